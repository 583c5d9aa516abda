import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  checkedValue,
  FrameOptions,
  frameOptionsOf,
  ImageInputList,
  validationEntries,
  validationMessage,
  VideoInputList,
  VideoMetadata,
  VideoParams,
} from '../index.ts';

const Params = suite('inputs about videos');

Params('have the defaults and the bounds of the original', () => {
  assert.equal(VideoParams.parse({}), { extract_fps: 3, fast_mode_enabled: true });
  assert.equal(VideoMetadata.parse({}), { title: null, description: null, duration: null });
  for (const wrong of [{ extract_fps: 0 }, { extract_fps: -1 }, { fast_mode_enabled: 1 }, { fps: 3 }])
    assert.ok(checkedValue(VideoParams, wrong).issues, JSON.stringify(wrong));
  assert.ok(checkedValue(VideoMetadata, { duration: -1 }).issues);
});

Params('choose frames that can be asked for, whatever the rate', () => {
  assert.equal(frameOptionsOf(VideoParams.parse({})), { keyframes: true });
  for (const rate of [1e-9, 0.001, 0.3, 3, 29.97, 1000]) {
    const options = frameOptionsOf(VideoParams.parse({ extract_fps: rate, fast_mode_enabled: false }));
    assert.equal(FrameOptions.parse(options), { every: 1 / rate });
  }
});

Params('are lists of at least one, and the message of a wrong one names its place', () => {
  for (const list of [VideoInputList, ImageInputList]) {
    assert.equal(list.parse([{ path: '/a' }, { url: 'https://b.example/c' }]).length, 2);
    assert.ok(checkedValue(list, []).issues);
    const wrong = [{ path: '/a' }, { path: '/a', content: 'file' }];
    const { issues } = checkedValue(list, wrong);
    const [entry] = validationEntries(issues ?? [], wrong);
    assert.is(entry?.loc[0], 1);
    assert.match(validationMessage([entry!]), /Exactly one of 'path', 'url', or 'content' must be provided\./);
  }
});

Params.run();
