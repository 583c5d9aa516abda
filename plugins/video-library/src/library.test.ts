import { HostError } from 'aana-host/plugin';
import {
  type FakeHost,
  type FakeStorage,
  type FakeVectors,
  runEndpoint,
  type RunResult,
} from 'aana-host/plugin/testing';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endpoint } from './index.ts';
import type { Passage, Video } from './library.ts';

/** Speech: sentences that begin every 20 seconds. Nothing is silence. */
const transcriptOf = (...sentences: string[]) => ({
  segments: sentences.map((text, n) => ({
    text: ` ${text}`,
    time_interval: { start: 20 * n, end: 20 * n + 15 },
    confidence: 1,
    no_speech_confidence: null,
    words: [
      { word: ` ${text}`, time_interval: { start: 20 * n, end: 20 * n + 15 }, alignment_confidence: 1, speaker: null },
    ],
    speaker: null,
  })),
  transcription_info: { language: sentences.length === 0 ? 'silence' : 'en', language_confidence: 1 },
  transcription: { text: sentences.join(' ') },
});

/** A vector that says which of these subjects a text is about. */
const vectorOf = (text: string, subjects: readonly string[]): number[] => [
  ...subjects.map((word) => Number(text.includes(word))),
  0.1,
];

class Case {
  readonly storage: FakeStorage = new Map();
  readonly vectors: FakeVectors = new Map();
  speech = transcriptOf('They drink tea.', 'The cat sleeps.');
  room = 4096;
  /** What the model for embeddings knows. */
  subjects = ['tea', 'cat', 'moon'];

  run(name: string, input: object, fakes: FakeHost = {}): Promise<RunResult> {
    const embed = ({ text }: { text: string }) => ({ embedding: vectorOf(text, this.subjects), tokens: 1 });
    const embed_batch = ({ sentences }: { sentences: string[] }) => ({
      embedding: sentences.map((text) => vectorOf(text, this.subjects)),
      tokens: [],
    });
    const diarize = () => ({
      segments: ['A', 'B'].map((speaker, n) => ({ speaker, time_interval: { start: 20 * n, end: 20 * n + 15 } })),
    });
    const llm_deployment = {
      /** Counts a hundred tokens for each passage. */
      count_tokens: ({ dialog }: { dialog: object }) => {
        const passages = JSON.stringify(dialog).match(/ s:/g) ?? [];
        return { tokens: 100 * passages.length, max_tokens: this.room };
      },
      chat: () => ({ message: { role: 'assistant', content: 'Tea [1].' } }),
      chat_stream: () => [{ text: 'Tea' }, { text: ' [1].' }],
    };
    const asr_deployment = { transcribe: () => this.speech };
    const deployments = {
      ...{ asr_deployment, llm_deployment, embedding_deployment: { embed, embed_batch } },
      diarization_deployment: { diarize },
    };
    const { storage, vectors } = this;
    return runEndpoint(endpoint, name, input, { storage, vectors, deployments, ...fakes });
  }

  async add(...ids: string[]): Promise<Video[]> {
    const videos = ids.map((id) => ({ path: `/${id}.mp4`, media_id: id }));
    return ((await this.run('library_add', { videos })).output as { videos: Video[] }).videos;
  }

  async search(question: string, more: object = {}): Promise<Passage[]> {
    return ((await this.run('library_search', { question, ...more })).output as { passages: Passage[] }).passages;
  }

  async list(): Promise<Video[]> {
    return ((await this.run('library_list', {})).output as { videos: Video[] }).videos;
  }
}

const Library = suite('video library');
const test = (title: string, run: (one: Case) => Promise<void>): void => Library(title, () => run(new Case()));

test('finds what was said, with its time', async (one) => {
  const video = { passages: 2, title: null, duration: 10 };
  assert.equal(await one.add('a', 'b'), [
    { id: 'a', ...video },
    { id: 'b', ...video },
  ]);
  assert.equal(await one.list(), [
    { id: 'a', ...video },
    { id: 'b', ...video },
  ]);
  const [first, second] = await one.search('a cat', { limit: 2 });
  assert.equal([first!.text, first!.start, first!.end, first!.speakers], ['The cat sleeps.', 20, 35, []]);
  assert.equal([first!.video, second!.video].toSorted(), ['a', 'b']);
  assert.equal(new Set((await one.search('a cat', { videos: ['b'] })).map(({ video: id }) => id)), new Set(['b']));
});

test('replaces a video of the same id, and removes it', async (one) => {
  await one.add('a');
  one.speech = transcriptOf('The moon is far.');
  await one.add('a');
  assert.equal(
    (await one.search('tea cat moon')).map(({ text }) => text),
    ['The moon is far.'],
  );
  await one.run('library_remove', { video: 'a' });
  assert.equal([await one.list(), await one.search('moon')], [[], []]);
  const again = await one.run('library_remove', { video: 'a' }).catch((error: unknown) => error);
  assert.ok(again instanceof HostError && again.name === 'NotFoundException' && again.kind === 'not-found');
});

test('adds a video without an id once, also when its task runs again', async (one) => {
  const input = { videos: [{ path: '/a.mp4' }, { path: '/a.mp4' }, { path: '/b.mp4' }] };
  const attempts = [await one.run('library_add', input), await one.run('library_add', input)];
  const [first, second] = attempts.map(({ output }) => (output as { videos: Video[] }).videos);
  assert.equal(first, second);
  assert.is(new Set(first!.map(({ id }) => id)).size, 3);
  assert.is((await one.list()).length, 3);
  await one.run('library_add', { videos: [{ path: '/c.mp4' }] });
  assert.is((await one.list()).length, 4);
});

test('takes another model for embeddings once all videos are removed', async (one) => {
  await one.add('a');
  one.subjects = ['tea', 'cat'];
  const refused = await one.add('b').catch((error: unknown) => error);
  assert.ok(refused instanceof HostError && refused.name === 'VectorModelMismatch');
  assert.equal(
    (await one.list()).map(({ id }) => id),
    ['a'],
  );
  await one.run('library_remove', { video: 'a' });
  await one.add('b');
  assert.is((await one.search('cat'))[0]!.video, 'b');
});

test('refuses what is no id of a video in the words of the request', async (one) => {
  for (const [name, input] of [
    ['library_remove', { video: 'a\0' }],
    ['library_search', { question: 'tea', videos: ['a', 'b/c'] }],
  ] as const) {
    const error = await one.run(name, input).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof HostError && error.name === 'ValidationError');
    assert.match(JSON.stringify(error.data), /"video/);
  }
});

test('fails before it transcribes where nothing finds speakers', async (one) => {
  const input = { videos: [{ path: '/a.mp4' }], speakers: true };
  const diarize = (): never => {
    throw new HostError('DeploymentNotFound', 'not-found', 'there is no deployment diarization_deployment');
  };
  let transcribed = 0;
  const transcribe = () => ((transcribed += 1), one.speech);
  const deployments = { asr_deployment: { transcribe }, diarization_deployment: { diarize } };
  const error = await one.run('library_add', input, { deployments }).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof HostError && error.name === 'DeploymentNotFound');
  assert.is(transcribed, 0);
});

test('takes videos without speech, and has an answer before the first video', async (one) => {
  assert.equal([await one.list(), await one.search('tea')], [[], []]);
  one.speech = transcriptOf();
  assert.equal((await one.add('a'))[0]!.passages, 0);
  const { output, calls } = await one.run('library_ask', { question: 'tea?' });
  assert.equal(output, { answer: 'The library has nothing about this question.', sources: [] });
  assert.not(calls.some(({ deployment }) => deployment === 'llm_deployment'));
});

test('names speakers, titles and uploaded files', async (one) => {
  const file = { content: new Uint8Array(1), name: 'talk.mp4' };
  const videos = [{ content: 'video' }, { url: 'https://a.example/v', media_id: 'v' }];
  const { output } = await one.run(
    'library_add',
    { videos, speakers: true },
    { files: { video: file }, video: ({ url }) => (url === undefined ? {} : { title: 'A talk' }) },
  );
  assert.equal(
    (output as { videos: Video[] }).videos.map(({ title }) => title),
    ['talk.mp4', 'A talk'],
  );
  const [found] = await one.search('cat', { videos: ['v'] });
  assert.equal([found!.title, found!.speakers], ['A talk', ['SPEAKER_01']]);
});

test('answers from passages, of which as many are read as there is room for', async (one) => {
  await one.add('a');
  const { output, calls } = await one.run('library_ask', { question: 'Who drinks tea?' });
  const { answer, sources } = output as { answer: string; sources: Passage[] };
  assert.equal([answer, sources.length, sources[0]!.text], ['Tea [1].', 2, 'They drink tea.']);
  const asked = JSON.stringify(calls.find(({ method }) => method === 'chat')!.args);
  assert.match(asked, /\[1\] a, at 0 s:.*They drink tea.*\[2\].*Question: Who drinks tea\?/s);
  one.room = 400;
  const { written } = await one.run('library_ask_stream', { question: 'Who drinks tea?' });
  const [head, ...pieces] = written as { sources?: Passage[]; text?: string }[];
  assert.equal([head!.sources!.length, pieces.map(({ text }) => text).join('')], [1, 'Tea [1].']);
});

Library.run();
