// examples/video-library is copied out of the repository and served as its README says, with real models and real
// speech.
import { spawnSync } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { concatenatedJson } from '../../base/core/json/concatenated-json.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { blocksOf } from '../helpers/guide.ts';
import { voiceSamples } from '../helpers/media/conversations.ts';
import { copyProject } from '../helpers/plugin-project.ts';
import { type RunningServer, serve } from '../helpers/server.ts';
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
let server: RunningServer | undefined;
let commands: ReadonlyMap<string, string>;

/** Runs a command of the README. Returns the values that it prints. */
async function run(name: string, change: (command: string) => string = (command) => command): Promise<unknown[]> {
  const command = change(commands.get(name) ?? '').replaceAll('http://127.0.0.1:8000', server!.url);
  const { status, stdout, stderr } = spawnSync('bash', ['-c', command], { cwd: project, encoding: 'utf8' });
  assert.is(status, 0, stderr);
  const values: unknown[] = [];
  for await (const value of concatenatedJson(new Blob([stdout]).stream())) values.push(value);
  return values;
}

Example.before(async () => {
  copyProject(join(packageRoot, 'examples/video-library'), project);
  const copied = { kennedy: 'inauguration', rainbow: 'rainbow' };
  for (const [voice, name] of Object.entries(copied))
    await copyFile(join(folder, `${voice}.wav`), join(project, `${name}.wav`));
  const readme = await readFile(join(project, 'README.md'), 'utf8');
  commands = new Map(blocksOf(readme).map(({ about, text }) => [about, text]));
  const config = JSON.parse(await readFile(join(project, 'aana.config.json'), 'utf8'));
  const { asr_deployment: asr, llm_deployment: llm, embedding_deployment: embedding } = config.deployments;
  asr.user_config.threads = 1;
  for (const one of [llm, embedding]) one.user_config = { ...one.user_config, model_kwargs: { n_threads: 1 } };
  const { scripts } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8'));
  const plugin = String(scripts.start).split(' ').at(-1)!;
  server = await serve({ plugins: [join(project, plugin)], config });
});
Example.after(async () => {
  await server?.stop();
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
