// Tests the path from a video to its transcript and to a streamed summary, with a real server, real components and real
// models.
import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { concatenatedJson } from '../../base/core/json/concatenated-json.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { AsrOutput } from '../../base/schemas/index.ts';
import { blocksOf } from '../helpers/guide.ts';
import { copyProject, runNode } from '../helpers/plugin-project.ts';
import { longTalk } from '../helpers/media/clips.ts';
import { muteVideo, SAMPLE_TEXT, silentVideo, speakingVideo } from '../helpers/media/media.ts';
import { descendants, isRunning, post, type RunningServer, serve, streamed } from '../helpers/server.ts';
import { wordErrorRate, wordErrors } from '../helpers/media/word-errors.ts';
import { skip } from '../skip.ts';

const MainPath = suite('the main path');

let server: RunningServer;
let folder: string;
let video: Uint8Array;

MainPath.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-e2e-'));
  video = await speakingVideo();
  await writeFile(join(folder, 'speech.mp4'), video);
  server = await serve({ flags: ['--allow-path', folder, '--allow-private-urls'] });
});

MainPath.after(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const transcribe = async (input: unknown, files = {}): Promise<AsrOutput> => {
  const response = await post(`${server.url}/video/transcribe`, { video: input }, files);
  const text = await response.text();
  assert.is(response.status, 200, text);
  return AsrOutput.parse(JSON.parse(text));
};

const uploaded = (): Record<string, { data: Uint8Array }> => ({ video: { data: video } });

MainPath('an uploaded video gives its text with times inside the clip', async () => {
  const output = await transcribe({ content: 'video' }, uploaded());
  assert.ok(wordErrors(SAMPLE_TEXT, output.transcription.text) <= 1, output.transcription.text);
  assert.is(output.transcription_info.language, 'en');
  assert.ok(output.segments.length > 0);
  for (const { time_interval: time, confidence } of output.segments) {
    assert.ok(time.start >= 0 && time.start <= time.end && time.end <= 11.1, JSON.stringify(time));
    assert.ok(confidence !== null && confidence > 0 && confidence <= 1);
  }
});

MainPath("README's lines work as pasted", async () => {
  const readme = await readFile(join(packageRoot, 'README.md'), 'utf8');
  const block = blocksOf(readme).find(({ section, language }) => section === 'Call it' && language === 'sh');
  const home = join(folder, 'home');
  await mkdir(join(home, '.cache'), { recursive: true });
  await symlink(process.env['AANA_CACHE_DIR']!, join(home, '.cache/aana-host'));
  const answers = [];
  for (const line of block!.text.replaceAll('http://127.0.0.1:8000', server.url).split('\n')) {
    const { stdout } = await promisify(execFile)('bash', ['-ec', line], {
      cwd: home,
      env: { ...process.env, HOME: home },
    });
    answers.push(stdout);
  }
  const [copied, transcript = '', summary = '', ...others] = answers;
  assert.equal([copied, others], ['', []]);
  assert.ok(wordErrors(SAMPLE_TEXT, AsrOutput.parse(JSON.parse(transcript)).transcription.text) <= 1, transcript);
  const texts: string[] = [];
  for await (const value of concatenatedJson(new Blob([summary]).stream()))
    texts.push((value as { text: string }).text);
  assert.ok(texts.length > 1 && texts.join('').trim() !== '', summary);
});

MainPath('a URL and an allowed path give the same text', async () => {
  const files = createServer((_, response) => createReadStream(join(folder, 'speech.mp4')).pipe(response)).listen(
    0,
    '127.0.0.1',
  );
  await once(files, 'listening');
  try {
    const address = files.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const byUrl = await transcribe({ url: `http://127.0.0.1:${port}/speech.mp4` });
    const byPath = await transcribe({ path: join(folder, 'speech.mp4') });
    assert.is(byUrl.transcription.text, byPath.transcription.text);
    assert.ok(wordErrors(SAMPLE_TEXT, byUrl.transcription.text) <= 1);
  } finally {
    files.close();
  }
});

MainPath('word times ascend and stay inside the clip', async () => {
  const response = await post(
    `${server.url}/video/transcribe`,
    { video: { content: 'video' }, whisper_params: { word_timestamps: true } },
    uploaded(),
  );
  const output = AsrOutput.parse(await response.json());
  const spoken = output.segments.flatMap((segment) => segment.words);
  assert.ok(spoken.length >= 20, String(spoken.length));
  let last = 0;
  for (const { time_interval: time } of spoken) {
    assert.ok(time.end >= time.start && time.start >= last - 0.5 && time.end <= 11.1, JSON.stringify(time));
    last = time.start;
  }
});

MainPath('a summary is text, and its stream has several objects that arrive while it is generated', async () => {
  const whole = await post(`${server.url}/video/summarize`, { video: { content: 'video' } }, uploaded());
  assert.is(whole.status, 200);
  const { summary } = (await whole.json()) as { summary: string };
  assert.ok(summary.trim().length > 10, summary);

  const stream = await post(`${server.url}/video/summarize_stream`, { video: { content: 'video' } }, uploaded());
  assert.is(stream.status, 200);
  assert.match(stream.headers.get('content-type') ?? '', /^application\/json-seq/);
  assert.ok(stream.body);
  let reads = 0;
  const counted = async function* (body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      reads++;
      yield chunk;
    }
  };
  const texts: string[] = [];
  for await (const chunk of concatenatedJson(counted(stream.body))) texts.push((chunk as { text: string }).text);
  assert.ok(texts.length > 3, `${texts.length} objects`);
  assert.ok(reads > 1, 'the whole answer came in one piece');
  assert.ok(texts.join('').trim().length > 10);
});

MainPath(
  'silence and a video without an audio track have the language "silence" and no segments, and a summary that says so',
  async () => {
    for (const data of [await silentVideo(), await muteVideo()]) {
      assert.equal(await transcribe({ content: 'video' }, { video: { data } }), {
        segments: [],
        transcription_info: { language: 'silence', language_confidence: 1 },
        transcription: { text: '' },
      });
      const response = await post(
        `${server.url}/video/summarize`,
        { video: { content: 'video' } },
        { video: { data } },
      );
      const { summary } = (await response.json()) as { summary: string };
      assert.match(summary, /no speech/i);
    }
  },
);

MainPath(
  'four transcriptions and four streamed summaries at the same time finish correctly while the server answers',
  async () => {
    let slowest = 0;
    let polling = true;
    const poll = (async () => {
      while (polling) {
        const startedAt = performance.now();
        assert.is((await fetch(`${server.url}/api/ready`)).status, 200);
        slowest = Math.max(slowest, performance.now() - startedAt);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    const four = [0, 1, 2, 3];
    try {
      await Promise.all([
        ...four.map(async () =>
          assert.ok(
            wordErrors(SAMPLE_TEXT, (await transcribe({ content: 'video' }, uploaded())).transcription.text) <= 1,
          ),
        ),
        ...four.map(async () => {
          const response = await post(
            `${server.url}/video/summarize_stream`,
            { video: { content: 'video' } },
            uploaded(),
          );
          const chunks = await streamed(response);
          assert.not.ok(
            chunks.some((chunk) => chunk.error),
            JSON.stringify(chunks.at(-1)),
          );
          assert.ok(chunks.map((chunk) => chunk.text).join('').length > 10);
        }),
      ]);
    } finally {
      polling = false;
      await poll;
    }
    process.stdout.write(`slowest /api/ready beside eight requests: ${slowest.toFixed(1)} ms\n`);
  },
);

MainPath('a talk of three minutes is transcribed with few word errors and its summary streams', async () => {
  const talk = await longTalk(folder);
  if (typeof talk === 'string') return skip('a talk of three minutes', talk);
  const data = await readFile(talk.path);
  const rate = wordErrorRate(
    talk.text,
    (await transcribe({ content: 'video' }, { video: { data } })).transcription.text,
  );
  process.stdout.write(`word error rate of the talk: ${(100 * rate).toFixed(1)} %\n`);
  assert.ok(rate < 0.05, String(rate));
  const response = await post(
    `${server.url}/video/summarize_stream`,
    { video: { content: 'video' } },
    { video: { data } },
  );
  assert.ok((await streamed(response)).length > 3);
});

MainPath('the documentation page and the document of the API are served', async () => {
  assert.is((await fetch(`${server.url}/docs`)).status, 200);
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    openapi: string;
    paths: Record<string, unknown>;
  };
  assert.match(document.openapi, /^3\.1/);
  for (const path of ['/video/transcribe', '/video/summarize', '/video/summarize_stream'])
    assert.ok(document.paths[path], path);
});

MainPath('the printed curl command names an existing file', () => {
  const line = /curl .*-F \S+=@(\S+)/.exec(server.output());
  assert.ok(line, server.output());
});

MainPath("the example's client, generated from the server, prints the transcript and the summary", async () => {
  const project = join(folder, 'node-client');
  copyProject(join(packageRoot, 'examples/node-client'), project);
  runNode(
    project,
    join(packageRoot, 'bundle/host/cli/main.js'),
    'client',
    '--url',
    server.url,
    '--out',
    'src/aana-client.ts',
  );
  runNode(project, join(packageRoot, 'node_modules/typescript/bin/tsc'));
  const [transcript = '', summary = ''] = runNode(project, 'build/main.js', join(folder, 'speech.mp4')).split('\n\n');
  assert.ok(wordErrors(SAMPLE_TEXT, transcript) <= 1, transcript);
  assert.ok(summary.trim().length > 0);
  await writeFile(join(folder, 'text.mp4'), 'not a video');
  assert.throws(() => runNode(project, 'build/main.js', join(folder, 'text.mp4')), /\(400\): /);
});

MainPath('SIGTERM ends the server with 0 and leaves no child', async () => {
  const children = await descendants(server.process.pid ?? 0);
  assert.ok(children.length >= 2, JSON.stringify(children));
  assert.is(await server.stop('SIGTERM'), 0);
  for (const { pid, command } of children) assert.not.ok(await isRunning(pid), command);
});

MainPath.run();
