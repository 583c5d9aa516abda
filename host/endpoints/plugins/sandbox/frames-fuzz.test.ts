import { randomInt } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { fuzzFrames } from './fixtures/frames-fuzz.ts';
import { randomOf } from './fixtures/random-of.ts';
import { frameKind, frameOf, FrameReader } from './frames.ts';

const Frames = suite('changed frames to the sandbox');

Frames('a process refuses them and serves on, or ends with a sentence', async () => {
  const seed = randomInt(2 ** 31);
  process.stdout.write(`seed ${seed}\n`);
  const refused = await fuzzFrames(seed, 60);
  assert.ok(refused > 10, `only ${refused} were refused`);
});

Frames('frames are the same in chunks of any size', () => {
  const random = randomOf(randomInt(2 ** 31));
  const sent = Array.from({ length: 30 }, (_, n) => frameOf(n, frameKind.tell, [], Buffer.alloc(random(200_000), n)));
  const bytes = Buffer.concat(sent);
  for (const most of [2, 100, 100_000, bytes.length]) {
    const reader = new FrameReader();
    const got: Buffer[] = [];
    for (let at = 0; at < bytes.length;) {
      const end = at + 1 + random(most);
      for (const { invocation, payload } of reader.take(bytes.subarray(at, end))) {
        assert.is(invocation, got.length);
        got.push(payload);
      }
      at = end;
    }
    assert.is(got.length, sent.length);
    got.forEach((payload, n) => assert.ok(payload.equals(sent[n]!.subarray(9)), `frame ${n} differs`));
  }
});

Frames('a reader keeps nothing of a large frame that it has cut', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const reader = new FrameReader();
  const large = 64 * 1024 * 1024;
  for (const part of [frameOf(1, frameKind.tell, [], Buffer.alloc(large)), Buffer.of(9)]) reader.take(part);
  assert.is(reader.incompleteBytes, 1);
  // V8 frees buffers in another thread after it has collected.
  for (let tries = 0; process.memoryUsage().arrayBuffers >= large; tries++) {
    assert.ok(tries < 200, 'the frame is still there');
    collect();
    await delay(10);
  }
});

Frames.run();
