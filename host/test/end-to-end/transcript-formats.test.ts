// Tests each form of a transcript with a real server, the real component and a real model. ffmpeg reads the subtitles
// as a player does.
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AsrOutput } from '../../base/schemas/index.ts';
import { toSrt, toVtt, VerboseTranscription } from '../../base/transcripts/index.ts';
import { ffmpegPath, SAMPLE_TEXT, silentVideo, speakingVideo } from '../helpers/media/media.ts';
import { wordErrors } from '../helpers/media/word-errors.ts';
import { post, type RunningServer, serve, TEST_DEPLOYMENTS } from '../helpers/server.ts';
import { skip } from '../skip.ts';

const Formats = suite('the forms of a transcript');

let server: RunningServer;
let folder: string;
let video: Uint8Array;

Formats.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-formats-'));
  video = await speakingVideo();
  const { asr_deployment } = TEST_DEPLOYMENTS;
  server = await serve({ config: { deployments: { asr_deployment } } });
});
Formats.after(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const ask = (input: object, { query = '', data = video } = {}): Promise<Response> =>
  post(`${server.url}/video/transcribe${query}`, { video: { content: 'video' }, ...input }, { video: { data } });
const textOf = async (input: object, type: string): Promise<string> => {
  const response = await ask(input);
  const text = await response.text();
  assert.is(response.status, 200, text);
  assert.is(response.headers.get('content-type'), type);
  return text;
};
const jsonOf = async (input: object): Promise<unknown> =>
  JSON.parse(await textOf(input, 'application/json; charset=utf-8'));

/** Returns the lines of times that ffmpeg finds in a file of subtitles. */
async function timesByFfmpeg(file: string, text: string): Promise<string[]> {
  await writeFile(join(folder, file), text);
  const args = ['-nostdin', '-v', 'error', '-xerror', '-i', join(folder, file), '-f', 'srt', '-'];
  return execFileSync(ffmpegPath(), args, { encoding: 'utf8' }).match(/^.*-->.*$/gm) ?? [];
}

Formats('carry the same words, each with its media type', async () => {
  const json = AsrOutput.parse(await jsonOf({}));
  assert.equal(await jsonOf({ format: 'json' }), json);
  assert.is(await textOf({ format: 'srt' }, 'application/x-subrip'), toSrt(json));
  assert.is(await textOf({ format: 'vtt' }, 'text/vtt; charset=utf-8'), toVtt(json));
  assert.is(await textOf({ format: 'text' }, 'text/plain; charset=utf-8'), `${json.transcription.text.trim()}\n`);
  const table = await textOf({ format: 'tsv' }, 'text/tab-separated-values; charset=utf-8');
  assert.is(table.trimEnd().split('\n').length, json.segments.length + 1);
  const verbose = VerboseTranscription.parse(await jsonOf({ format: 'verbose_json' }));
  assert.is(verbose.text, json.transcription.text.trim());
  assert.is(verbose.language, 'english');
  assert.ok(Math.abs((verbose.duration ?? 0) - 11) < 0.2, String(verbose.duration));
  const diarized = await jsonOf({ format: 'diarized_json', whisper_params: { channels: 'separate' } });
  const { text, segments } = diarized as { text: string; segments: { speaker: string }[] };
  assert.ok(wordErrors(SAMPLE_TEXT, text.replaceAll(/^\w+: /gm, '')) <= 1, text);
  assert.ok(segments.length > 0 && segments.every(({ speaker }) => speaker !== ''));
});

Formats('have embedded subtitles in the place of the speech, if the request asks for it', async () => {
  const [plain, titles, titled] = ['plain.mp4', 'titles.srt', 'titled.mkv'].map((name) => join(folder, name));
  await writeFile(plain!, video);
  const lines = '1\n00:00:01,000 --> 00:00:02,500\nWritten, not said.\n';
  await writeFile(titles!, lines);
  execFileSync(ffmpegPath(), ['-v', 'error', '-i', plain!, '-i', titles!, '-c', 'copy', titled!]);
  const given = async (input: object, data: Uint8Array): Promise<[number, string]> => {
    const response = await ask({ subtitles: true, ...input }, { data });
    return [response.status, await response.text()];
  };
  const file = await readFile(titled!);
  assert.equal(await given({ format: 'srt' }, file), [200, lines]);
  const [status, json] = await given({}, file);
  assert.equal([status, AsrOutput.parse(JSON.parse(json)).transcription.text.trim()], [200, 'Written, not said.']);
  const [refused, why] = await given({}, video);
  assert.is(refused, 400);
  assert.match(why, /VideoReadingException.*the file has no subtitles/);
});

Formats('break lines and underline words for a player', async () => {
  const shape = { max_line_width: 24, max_line_count: 2 };
  const vtt = await textOf({ format: 'vtt', ...shape }, 'text/vtt; charset=utf-8');
  const blocks = vtt.trimEnd().split('\n\n').slice(1);
  assert.ok(blocks.length > 1, vtt);
  for (const block of blocks) {
    const [, ...lines] = block.split('\n');
    assert.ok(lines.length <= 2 && lines.every((line) => line.length <= 24), block);
  }
  assert.ok(wordErrors(SAMPLE_TEXT, blocks.map((block) => block.split('\n').slice(1).join(' ')).join(' ')) <= 1, vtt);
  const srt = await textOf({ format: 'srt', highlight_words: true, ...shape }, 'application/x-subrip');
  assert.ok((srt.match(/<u>/g) ?? []).length >= 20, srt);
  if (!execFileSync(ffmpegPath(), ['-v', 'error', '-demuxers'], { encoding: 'utf8' }).includes(' webvtt'))
    return skip('subtitles read by ffmpeg', 'this ffmpeg has no reader of WebVTT');
  for (const [file, text] of [
    ['a.vtt', vtt],
    ['a.srt', srt],
  ] as const) {
    const written = (text.match(/^.*-->.*$/gm) ?? []).map((line) => line.replaceAll('.', ','));
    assert.equal(await timesByFfmpeg(file, text), written);
  }
});

Formats('of silence have no words', async () => {
  const data = await silentVideo();
  const answers = await Promise.all(
    ['text', 'srt', 'vtt', 'tsv'].map(async (format) => (await ask({ format }, { data })).text()),
  );
  assert.equal(answers, ['', '', 'WEBVTT\n', 'start\tend\ttext\n']);
});

Formats('are the results of tasks, with their media types', async () => {
  const { task_id: id } = (await (await ask({ format: 'vtt' }, { query: '?defer=true' })).json()) as {
    task_id: string;
  };
  await (await fetch(`${server.url}/tasks/${id}/events`)).text(); // ends with the task
  const { result } = (await (await fetch(`${server.url}/tasks/${id}`)).json()) as {
    result: { media_type: string; text: string };
  };
  assert.is(result.media_type, 'text/vtt');
  assert.match(result.text, /^WEBVTT\n\n00:00:0/);
});

Formats('that do not exist, and options that make no sense, are refused by name', async () => {
  const body = (rest: string): string => `{"video":{"content":"video"},${rest}}`;
  const REFUSED: readonly [rest: string, loc: string][] = [
    ['"format":"ass"', 'format'],
    ['"format":{}', 'format'],
    ['"format":"srt","max_line_width":0', 'max_line_width'],
    ['"format":"srt","max_line_width":-5', 'max_line_width'],
    ['"format":"srt","max_line_width":1e300', 'max_line_width'],
    ['"format":"vtt","max_line_width":5,"max_line_count":2.5', 'max_line_count'],
    ['"format":"vtt","max_line_count":2', 'max_line_count'],
    ['"max_line_width":5', 'max_line_width'],
    ['"format":"diarized_json"', 'format'],
  ];
  for (const [rest, loc] of REFUSED) {
    const form = new FormData();
    form.append('body', body(rest));
    form.append('video', new Blob([new Uint8Array(video)]), 'video.mp4');
    const response = await fetch(`${server.url}/video/transcribe`, { method: 'POST', body: form });
    const answer = (await response.json()) as { error: string; data: { loc: string[] }[] };
    assert.equal(
      [response.status, answer.error, answer.data.map((one) => one.loc)],
      [422, 'ValidationError', [[loc]]],
      rest,
    );
  }
  const form = new FormData();
  form.append('body', body('"format":"srt","max_line_width":NaN'));
  const response = await fetch(`${server.url}/video/transcribe`, { method: 'POST', body: form });
  assert.is(response.status, 422);
});

Formats('are in the document of the API', async () => {
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<string, { post: { responses: Record<string, { content: Record<string, unknown> }> } }>;
  };
  assert.equal(Object.keys(document.paths['/video/transcribe']?.post.responses['200']?.content ?? {}), [
    'application/json',
    'text/plain',
    'application/x-subrip',
    'text/vtt',
    'text/tab-separated-values',
  ]);
});

Formats.run();
