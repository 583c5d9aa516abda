import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fittingEntries, intervalsOf, type TimelineEntry, timelineOf } from './timeline.ts';

const Timeline = suite('timelines of videos');

const texts = (...given: [time: number, text: string][]) => given.map(([time, text]) => ({ time, text }));

Timeline('has the entries of ten seconds in which something is said or shown', () => {
  const said = texts([0, ' One'], [9.99, ' two. '], [10, ' Three.'], [35, '  ']);
  assert.equal(timelineOf(said, texts([52, 'A slide'], [11, 'A dog'], [12, 'A dog'])), [
    { start_time: 0, end_time: 10, audio_transcript: 'One\ntwo.', visual_caption: '' },
    { start_time: 10, end_time: 20, audio_transcript: 'Three.', visual_caption: 'A dog' },
    { start_time: 50, end_time: 60, audio_transcript: '', visual_caption: 'A slide' },
  ]);
  assert.equal(timelineOf([], []), []);
});

/** A video of so many entries that each say their number, and one that says something else. */
const videoOf = (count: number, special: readonly [n: number, text: string]): TimelineEntry[] =>
  timelineOf(
    Array.from({ length: count }, (_, n) => ({ time: 10 * n, text: n === special[0] ? special[1] : `number ${n}` })),
    [],
  );

Timeline('loses what has least to do with the question, and keeps its order', async () => {
  for (let count = 1; count <= 70; count += 3)
    for (const room of [0, 1, 2, 5, count - 1, count, count + 1]) {
      const timeline = videoOf(count, [count - 1, 'Die Katze schläft.']);
      let calls = 0;
      const kept = await fittingEntries(timeline, 'Wo ist die KATZE?', (entries) => {
        calls += 1;
        return Promise.resolve(entries.length <= room);
      });
      assert.is(kept.length, Math.max(0, Math.min(room, count)));
      assert.equal(
        kept,
        kept.toSorted((a, b) => a.start_time - b.start_time),
      );
      assert.ok(kept.every((entry) => timeline.includes(entry)));
      if (room > 0) assert.ok(kept.includes(timeline.at(-1)!), `${room} of ${count}`);
      assert.ok(calls <= 2 + Math.log2(count), `${calls} calls for ${count}`);
    }
});

Timeline('loses entries evenly where no words of the question occur', async () => {
  const kept = await fittingEntries(videoOf(64, [0, 'x']), 'What?', (entries) => Promise.resolve(entries.length <= 16));
  assert.equal(
    kept.map(({ start_time: start }) => start),
    Array.from({ length: 16 }, (_, n) => 40 * n),
  );
});

Timeline('finds words of scripts without spaces', async () => {
  const timeline = videoOf(9, [7, '猫在睡觉']);
  const kept = await fittingEntries(timeline, '猫在哪里？', (entries) => Promise.resolve(entries.length <= 1));
  assert.equal(kept, [timeline[7]]);
});

Timeline('names the times from which to which entries follow each other', () => {
  const timeline = videoOf(6, [0, 'x']);
  assert.equal(intervalsOf([]), []);
  assert.equal(intervalsOf([timeline[0]!, timeline[1]!, timeline[3]!]), [
    { start_time: 0, end_time: 20 },
    { start_time: 30, end_time: 40 },
  ]);
});

Timeline.run();
