import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ContentPart, ImageChatDialog } from '../../../base/schemas/index.ts';
import { randomNumbers } from '../../../../native/lib/fixtures/tiny-llama.ts';
import { fitFrames, textBefore } from './frames.ts';

const Frames = suite('frames of videos in dialogs');

const frame = (time: number | undefined, width = 10): ContentPart => ({
  type: 'image',
  image: { pixels: { id: 'a', bytes: 3 * width, sha256: `${time}` }, width, height: 1 },
  ...(time !== undefined && { time }),
});
const dialogOf = (...contents: readonly (string | ContentPart[])[]): ImageChatDialog => ({
  messages: contents.map((content) => ({ role: 'user', content })),
});
const partsOf = ({ messages }: ImageChatDialog): ContentPart[] =>
  messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
/** An image has as many tokens as its width; a text, also of a time, as many as it has characters. */
const count = async (dialog: ImageChatDialog): Promise<number> =>
  dialog.messages.reduce((sum, { content }) => sum + (typeof content === 'string' ? content.length : 0), 0) +
  partsOf(dialog).reduce(
    (sum, part) =>
      sum +
      (part.type === 'text' ? part.text.length : part.type === 'image' ? part.image.width : 0) +
      (textBefore(part)?.length ?? 0),
    0,
  );
const timesOf = (dialog: ImageChatDialog): (number | undefined)[] =>
  partsOf(dialog).flatMap((part) => (part.type === 'image' ? [part.time] : []));

Frames('a time is told with tenths of a second, and an image has none', () => {
  assert.is(textBefore(frame(0)), '<0.0 seconds>');
  assert.is(textBefore(frame(3661.25)), '<3661.3 seconds>');
  assert.is(textBefore(frame(undefined)), undefined);
  assert.is(textBefore({ type: 'text', text: 'a' }), undefined);
});

Frames('dialogs without frames are not counted', async () => {
  const dialog = dialogOf('text', [frame(undefined, 1000)]);
  const never = (): Promise<number> => Promise.reject(new Error('counted'));
  assert.equal(await fitFrames(dialog, 0, never), { dialog });
});

Frames(
  'what does not fit is left out evenly; everything else stays, and so do the first and the last frame',
  async () => {
    const random = randomNumbers(7);
    const below = (n: number): number => Math.floor(Math.abs(random()) * 1e6) % n;
    for (let round = 0; round < 200; round += 1) {
      const widths = [5 + below(50), 5 + below(50)];
      const lengths = [1 + below(60), below(30)];
      const videos = lengths.map((length, n) => Array.from({ length }, (_, at) => frame(at * (n + 1), widths[n])));
      const dialog = dialogOf([...videos[0]!, { type: 'text', text: 'one' }, frame(undefined)], 'two', [
        frame(undefined),
        ...videos[1]!,
      ]);
      const room = below(3000);
      const whole = await count(dialog);
      const { dialog: fitted, dropped } = await fitFrames(dialog, room, count);
      const left = await count(fitted);
      const isFrame = (time: number | undefined): time is number => time !== undefined;
      const [before, after] = [timesOf(dialog).filter(isFrame), timesOf(fitted).filter(isFrame)];
      const context = JSON.stringify({ round, widths, lengths, room, whole, left });
      assert.is(timesOf(fitted).length - after.length, 2, context);
      assert.is(dropped?.frames ?? 0, before.length - after.length, context);
      assert.ok(left <= room || after.length === 1, context);
      if (whole * 1.2 <= room) assert.is(fitted, dialog, context);
      if (after.length > 1) assert.equal([after[0], after.at(-1)], [before[0], before.at(-1)], context);
      // Late times have more digits, so what is told as dropped may be somewhat more than what was.
      if (dropped) assert.ok(dropped.tokens >= whole - left && dropped.tokens <= (whole - left) * 1.5, context);
      if (lengths[1] === 0 && after.length > 1) {
        const gaps = after.slice(1).map((time, n) => time - after[n]!);
        assert.ok(Math.max(...gaps) - Math.min(...gaps) <= 1, `${context} ${gaps.join()}`);
      }
    }
  },
);

Frames('a message that had only frames is not left out', async () => {
  const dialog = dialogOf([frame(1), frame(2)], 'question');
  const seen: ImageChatDialog[] = [];
  await fitFrames(dialog, 1000, async (one) => {
    seen.push(one);
    return count(one);
  });
  assert.is(seen[0]!.messages.length, 2);
});

Frames.run();
