// examples/video-library is copied out of the repository and served as its README says, with real models and real
// speech.
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { voiceSamples } from '../helpers/media/conversations.ts';
import { ServedExample } from '../helpers/served-example.ts';
import { skip } from '../skip.ts';

interface Passage {
  readonly video: string;
  readonly title: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const Example = suite('examples/video-library');
const folder = await mkdtemp(join(tmpdir(), 'aana-library-'));
const project = join(folder, 'library');
const voices = await voiceSamples(folder); // writes a file for each voice
let example: ServedExample | undefined;
const run: ServedExample['run'] = (...args) => example!.run(...args);

Example.before(async () => {
  example = await ServedExample.start('video-library', project);
  const copied = { kennedy: 'inauguration', rainbow: 'rainbow' };
  for (const [voice, name] of Object.entries(copied))
    await copyFile(join(folder, `${voice}.wav`), join(project, `${name}.wav`));
});
Example.after(async () => {
  await example?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

Example('adds recordings, finds what was said and when, and answers with its sources', async () => {
  const [added] = (await run('add')) as [
    { videos: { id: string; title: string; duration: number; passages: number }[] },
  ];
  assert.equal(
    added.videos?.map(({ id, title }) => [id, title]),
    [
      ['inauguration', 'inauguration.wav'],
      ['rainbow', 'rainbow.wav'],
    ],
    JSON.stringify(added),
  );
  const [listed] = await run('list');
  assert.equal(listed, added);

  const [found] = (await run('search')) as [{ passages: Passage[] }];
  const first = found.passages[0]!;
  assert.is(first.video, 'inauguration');
  assert.match(first.text, /your country/i);
  const duration = added.videos[0]!.duration;
  assert.ok(first.start >= 0 && first.start < first.end && first.end <= duration + 1, JSON.stringify(first));
  const [other] = (await run('search', (command) =>
    command.replace(/"question":"[^"]*"/, '"question":"What makes colours in the sky after rain?"'),
  )) as [{ passages: Passage[] }];
  assert.is(other.passages[0]?.video, 'rainbow');

  const [asked] = (await run('ask')) as [{ answer: string; sources: Passage[] }];
  assert.ok(asked.answer.trim().length > 0);
  assert.is(asked.sources[0]?.video, 'inauguration');
  const [head, ...pieces] = (await run('ask_stream')) as [{ sources: Passage[] }, ...{ text: string }[]];
  assert.equal(head.sources, asked.sources);
  assert.ok(
    pieces
      .map(({ text }) => text)
      .join('')
      .trim().length > 0,
  );

  await run('remove');
  const [left] = (await run('list')) as [{ videos: { id: string }[] }];
  assert.equal(
    left.videos.map(({ id }) => id),
    ['inauguration'],
  );
});

if (typeof voices === 'string') skip('examples/video-library', voices);
else Example.run();
