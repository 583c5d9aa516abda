import { HostError } from 'aana-host/plugin';
import {
  type FakeHost,
  FakeRepositories,
  type FakeStorage,
  runEndpoint,
  type RunResult,
} from 'aana-host/plugin/testing';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endpoint } from './index.ts';

/** The value of a segment of speech. */
const part = (text: string, start: number) => ({
  segments: [
    {
      ...{ text, time_interval: { start, end: start + 5 }, confidence: 1, no_speech_confidence: null },
      ...{ words: [], speaker: null },
    },
  ],
  transcription_info: { language: '', language_confidence: 0 },
  transcription: { text },
});
const language = {
  segments: [],
  transcription_info: { language: 'en', language_confidence: 0.9 },
  transcription: { text: '' },
};

class Case {
  readonly storage: FakeStorage = new Map();
  readonly repositories = new FakeRepositories();
  speech: Iterable<unknown> | AsyncIterable<unknown> = [part(' Tea is hot.', 0), part(' Cats sleep.', 60), language];
  room = 4096;
  now = 0;
  dialogs: string[] = [];

  run(name: string, input: object, fakes: FakeHost = {}, more: FakeHost['deployments'] = {}): Promise<RunResult> {
    const llm_deployment = {
      /** Counts a hundred tokens for each entry of the timeline. */
      count_tokens: ({ dialog }: { dialog: object }) => ({
        tokens: 100 * (JSON.stringify(dialog).match(/audio_transcript\\":/g) ?? []).length + 50,
        max_tokens: this.room,
      }),
      chat: ({ dialog }: { dialog: object }) => {
        this.dialogs.push(JSON.stringify(dialog));
        return { message: { role: 'assistant', content: 'Hot.' } };
      },
      chat_stream: () => [{ text: 'Ho' }, { text: 't.' }],
    };
    const asr_deployment = { transcribe_stream: () => this.speech, transcribe_in_chunks: () => this.speech };
    const vad_deployment = { asr_preprocess_vad: () => ({ segments: [] }) };
    const { storage, repositories } = this;
    return runEndpoint(endpoint, name, input, {
      ...{ storage, repositories, deployments: { asr_deployment, llm_deployment, vad_deployment, ...more } },
      ...{ settings: { max_video_len: 1200 }, now: () => this.now },
      ...fakes,
    });
  }

  index(
    id: string | undefined,
    fakes?: FakeHost,
    more: object = {},
    deployments?: FakeHost['deployments'],
  ): Promise<RunResult> {
    return this.run('index_video_stream', { video: { path: '/a.mp4', media_id: id }, ...more }, fakes, deployments);
  }

  async status(id = 'a'): Promise<unknown> {
    return ((await this.run('video_status', { media_id: id })).output as { status: string }).status;
  }

  async failure(run: Promise<unknown>): Promise<HostError> {
    const error = await run.catch((thrown: unknown) => thrown);
    assert.instance(error, HostError, JSON.stringify(error));
    return error as HostError;
  }
}

const Chat = suite('chat with videos');
const test = (title: string, run: (one: Case) => Promise<void>): void => Chat(title, () => run(new Case()));

test('stores the rows of the original', async (one) => {
  const { written } = await one.index('a', { video: () => ({ duration: 70, title: 'T', description: 'D' }) });
  assert.equal(written[0], { media_id: 'a', metadata: { title: 'T', description: 'D', duration: 70 } });
  assert.equal(written.slice(1, 4), [...(one.speech as unknown[])]);
  const [transcript] = one.repositories.transcripts;
  assert.equal(written[4], { transcription_id: transcript!.id, caption_ids: [] });
  assert.equal(
    [transcript!.transcript, transcript!.segments.length, transcript!.language, transcript!.language_confidence],
    [' Tea is hot. Cats sleep.', 2, 'en', 0.9],
  );
  assert.equal(one.repositories.videos, [{ media_id: 'a', path: '/a.mp4', url: null, title: 'T', description: 'D' }]);
});

test('asks the detector of voices if parameters for it are given', async (one) => {
  const methods = async (more: object): Promise<string[]> =>
    (await one.index(undefined, {}, more)).calls.map(({ method }) => method);
  assert.equal(await methods({}), ['transcribe_stream']);
  assert.equal(await methods({ vad_params: { chunk_size: 20 } }), ['asr_preprocess_vad', 'transcribe_in_chunks']);
});

test('gives the model a timeline with the title, then the question', async (one) => {
  await one.index('a', { video: () => ({ duration: 70, title: 'Tea "and" cats' }) });
  const { output } = await one.run('video_chat', { media_id: 'a', question: 'Is tea hot?' });
  assert.equal(output, { completion: 'Hot.', left_out: [] });
  const [, user] = (JSON.parse(one.dialogs[0]!) as { messages: { content: string }[] }).messages;
  const [, timeline] = /^Title of the video: Tea "and" cats\n\nTimeline:\n(\[[^]*\])\n\nQuestion: Is tea hot\?$/.exec(
    user!.content,
  )!;
  assert.equal(JSON.parse(timeline!), [
    { start_time: 0, end_time: 10, audio_transcript: 'Tea is hot.', visual_caption: '' },
    { start_time: 60, end_time: 70, audio_transcript: 'Cats sleep.', visual_caption: '' },
  ]);
});

test('asks for one answer, whatever number is wanted', async (one) => {
  await one.index('a');
  const asked: object[] = [];
  const llm_deployment = {
    count_tokens: () => ({ tokens: 10, max_tokens: 1000 }),
    chat: (args: object) => (asked.push(args), { message: { role: 'assistant', content: 'Hot.' } }),
    chat_stream: (args: object) => (asked.push(args), [{ text: 'Hot.' }]),
  };
  const input = { media_id: 'a', question: 'What?', sampling_params: { n: 2, top_k: 3, seed: null } };
  for (const name of ['video_chat', 'video_chat_stream']) await one.run(name, input, {}, { llm_deployment });
  for (const args of asked) assert.equal((args as { sampling_params: object }).sampling_params, { top_k: 3 });
  assert.is(asked.length, 2);
});

test('leaves out what has no room, and says so', async (one) => {
  one.speech = Array.from({ length: 40 }, (_, n) => part(n === 33 ? ' The moon.' : ` Number ${n}.`, 10 * n));
  await one.index('a');
  one.room = 1024;
  const { output, logs } = await one.run('video_chat', { media_id: 'a', question: 'Where is the moon?' });
  const { left_out: leftOut } = output as { left_out: { start_time: number; end_time: number }[] };
  const missing = leftOut.reduce((sum, { start_time: start, end_time: end }) => sum + end - start, 0);
  assert.is(missing, 10 * (40 - 7)); // 750 of 1024 tokens, and a quarter of them for the answer
  assert.not(leftOut.some(({ start_time: start, end_time: end }) => start <= 330 && 340 <= end));
  assert.match(one.dialogs[0]!, 'The moon.');
  assert.equal(logs[0]?.fields, { media_id: 'a', read: 7, of: 40 });
  one.room = 160;
  const error = await one.failure(one.run('video_chat', { media_id: 'a', question: 'Where?' }));
  assert.equal(
    [error.name, error.kind, error.data],
    ['PromptTooLongException', 'bad-request', { prompt_len: 150, max_len: 160 }],
  );
});

test('refuses what is too long, whenever that is known', async (one) => {
  for (const [video, length] of [
    [{ duration: 1201 }, 1201],
    [{ duration: 1200.5 }, 1200.5],
  ] as const) {
    const error = await one.failure(one.index('a', { video: () => video }));
    assert.equal([error.name, error.kind], ['VideoTooLongException', 'too-large']);
    const data = error.data as { video_len: number; max_len: number };
    assert.equal([data.video_len, data.max_len], [length, 1200]);
    assert.is((await one.failure(one.status())).name, 'NotFoundException');
  }
  await one.index('a', { video: () => ({ duration: 1200 }) });
});

test('has failed when the transcription fails, and keeps its error', async (one) => {
  one.speech = (function* () {
    yield part(' Tea.', 0);
    throw new HostError('InferenceException', 'internal', 'it broke');
  })();
  assert.is((await one.failure(one.index('a'))).name, 'InferenceException');
  assert.is(await one.status(), 'failed');
  const error = await one.failure(one.run('video_chat', { media_id: 'a', question: 'What?' }));
  assert.equal(
    [error.name, error.kind, error.data],
    [
      'UnfinishedVideoException',
      'conflict',
      { media_id: 'a', status: 'failed', message: 'The video data is not available, status: failed' },
    ],
  );
});

test('has failed half a minute after its run ended without a word', async (one) => {
  let isGone = false;
  const left = await one.failure(
    one.index('a', {
      isCancelled: () => isGone,
      onWrite: ({ segments }: { segments?: unknown }) => {
        if (segments === undefined) return;
        isGone = true;
        throw new HostError('CancelledError', 'cancelled', 'the client has gone');
      },
    } as FakeHost),
  );
  assert.is(left.name, 'CancelledError');
  // The double of the storage answers after a cancellation, and the host's does not. This is what that leaves.
  const [[key, facts]] = [...one.storage].filter(([name]) => name.startsWith('video/')) as [[string, object]];
  one.storage.set(key, { ...facts, status: 'running' });
  assert.is(await one.status(), 'running');
  one.now += 29_999;
  assert.is(await one.status(), 'running');
  one.now += 1;
  assert.is(await one.status(), 'failed');
});

test('is indexed again by the next attempt of its request, and by no other', async (one) => {
  for (const outcome of ['failed', 'completed']) {
    one.speech = (function* () {
      yield part(' Tea.', 0);
      if (outcome === 'failed') throw new HostError('InferenceException', 'internal', 'it broke');
    })();
    await one.index('a').catch(() => {});
    assert.is(await one.status(), outcome);
    const error = await one.failure(one.run('index_video_stream', { video: { path: '/b.mp4', media_id: 'a' } }));
    assert.equal([error.name, error.kind], ['MediaIdAlreadyExistsException', 'conflict']);
  }
  assert.is(one.repositories.videos.length, 1);
  assert.is(one.repositories.transcripts.length, 1);
});

test('does not come back when it is deleted while it is indexed', async (one) => {
  const error = await one.failure(
    one.index('a', {
      onWrite: ({ segments }: { segments?: unknown }) => {
        if (segments === undefined || !one.repositories.media.has('a')) return;
        one.repositories.media.delete('a');
        one.storage.delete('video/a');
      },
    } as FakeHost),
  );
  assert.is(error.name, 'NotFoundException');
  assert.is((await one.failure(one.status())).name, 'NotFoundException');
  assert.equal([one.repositories.transcripts, one.storage.has('video/a')], [[], false]);
});

test('does not keep its id when it is deleted before it has a row', async (one) => {
  const { media } = one.repositories;
  const set = media.set.bind(media);
  media.set = (id, kind) => {
    one.storage.delete(`video/${id}`);
    return set(id, kind);
  };
  assert.is((await one.failure(one.index('a'))).name, 'NotFoundException');
  media.set = set;
  await one.index('a');
  assert.is(await one.status(), 'completed');
});

test('does not take or delete media of others', async (one) => {
  one.repositories.media.set('a', 'image');
  assert.is((await one.failure(one.index('a'))).name, 'MediaIdAlreadyExistsException');
  assert.is((await one.failure(one.run('delete_media', { media_id: 'a' }))).name, 'NotFoundException');
  assert.equal([...one.repositories.media.keys()], ['a']);
  assert.not([...one.storage.keys()].some((key) => key.startsWith('video/')));
});

test('takes titles and addresses of any length', async (one) => {
  const url = `https://a.example/${'x'.repeat(5000)}`;
  const title = `${'x'.repeat(4095)}😀`;
  await one.run(
    'index_video_stream',
    { video: { url, media_id: 'a' } },
    { video: () => ({ title, description: 'd'.repeat(20_000) }) },
  );
  const [video] = one.repositories.videos;
  assert.equal([video!.url, video!.title!.length, video!.description!.length], [null, 4095, 16_384]);
});

/** A picture of one colour. */
const picture = (time: number, colour: number) => ({
  time,
  pixels: (width: number, height: number) => new Uint8Array(3 * width * height).fill(colour),
});

test('looks at pictures that change, with the deployments that there are', async (one) => {
  const frames = [0, 3, 9, 200, 203, 80, 80].map((colour, n) => picture(10 * n, colour));
  const lookers = {
    captioning_deployment: {
      generate_captions_batch: ({ images }: { images: object[] }) => ({ captions: images.map((_, n) => `sight ${n}`) }),
    },
    ocr_deployment: {
      recognize_batch: ({ images }: { images: object[] }) => ({
        images: images.map((_, n) => ({ lines: n === 1 ? [] : [{ text: 'A' }, { text: 'slide' }] })),
      }),
    },
  };
  for (const [names, captions, timestamps] of [
    [[], [], []],
    [['ocr_deployment'], ['A\nslide', 'A\nslide'], [0, 30]],
    [['captioning_deployment'], ['sight 0', 'sight 1', 'sight 2', 'sight 3'], [0, 20, 30, 50]],
  ] as const) {
    const more = Object.fromEntries(names.map((name) => [name, lookers[name]]));
    const { written } = await one.index(undefined, { video: () => ({ duration: 70, frames: () => frames }) }, {}, more);
    const shown = written.filter((value) => 'captions' in (value as object));
    assert.equal(shown, names.length === 0 ? [] : [{ captions, timestamps }]);
    const { caption_ids: ids, transcription_id: transcript } = written.at(-1) as {
      caption_ids: number[];
      transcription_id: number;
    };
    assert.is(ids.length, captions.length);
    const { media_id: id } = one.repositories.transcripts.find((row) => row.id === transcript)!;
    await one.run('video_chat', { media_id: id, question: 'What is shown?' });
    const read = JSON.parse(one.dialogs.at(-1)!) as { messages: { content: string }[] };
    for (const caption of captions) assert.match(read.messages[1]!.content, JSON.stringify(caption).slice(1, -1));
  }
});

test('takes the frames that are asked for', async (one) => {
  const asked: object[] = [];
  const video = () => ({ frames: (options: object) => (asked.push(options), []) });
  for (const video_params of [
    undefined,
    { extract_fps: 0.5 },
    { fast_mode_enabled: false },
    { extract_fps: 0.5, fast_mode_enabled: false },
  ])
    await one.run('index_video_stream', { video: { path: '/a.mp4' }, video_params }, { video });
  const side = { max_width: 1280, max_height: 1280 };
  assert.equal(asked, [
    { keyframes: true, ...side },
    { keyframes: true, ...side },
    { every: 1 / 3, ...side },
    { every: 2, ...side },
  ]);
});

test('compares no more pictures than its computing time allows', async (one) => {
  const asked: object[] = [];
  let compared = 0;
  const counted = (time: number) => ({
    time,
    pixels: (width: number, height: number) => ((compared += 1), picture(0, 0).pixels(width, height)),
  });
  const ocr_deployment = {
    recognize_batch: ({ images }: { images: object[] }) => ({ images: images.map(() => ({ lines: [] })) }),
  };
  const seen = async (duration: number, every: number, video_params?: object) => {
    compared = 0;
    const frames = (options: object) => (
      asked.push(options),
      Array.from({ length: duration / every }, (_, n) => counted(n * every))
    );
    const run = one.index(
      undefined,
      { video: () => ({ duration, frames }), settings: { max_video_len: 9999 } },
      { video_params },
      { ocr_deployment },
    );
    return (await run).logs.map(({ fields }) => fields);
  };
  assert.equal([await seen(1200, 2), compared], [[], 300]);
  assert.equal(await seen(1000, 1 / 25), [{ time: 24 }]);
  assert.is(compared, 10);
  await seen(7200, 18);
  await seen(800, 2, { fast_mode_enabled: false, extract_fps: 3 });
  assert.equal(
    asked.map((options) => (options as { every?: number }).every),
    [undefined, undefined, 18, 2],
  );
});

test('cites words of the video, and only those', async (one) => {
  const frames = [picture(20, 0), picture(50, 90)];
  const lookers = {
    captioning_deployment: { generate_captions_batch: () => ({ captions: ['A cup of tea on a table', 'A cat'] }) },
    ocr_deployment: {
      recognize_batch: () => ({ images: ['All about tea and cats', 'Cats'].map((text) => ({ lines: [{ text }] })) }),
    },
  };
  await one.index('a', { video: () => ({ duration: 70, frames: () => frames }) }, {}, lookers);
  const claims = [
    { quotes: ['Tea is hot. Cats sleep.', 'Tea is hot. Cats sleep.'], claim: 'It is warm.' },
    { quotes: ['a quotation that the end cut', 'All about tea and cats'], claim: 'It is about both.' },
    { quotes: ['another one that the'], claim: 'It says nothing.' },
    { quotes: ['Tea is hot. Cats sleep.'], claim: 'It is warm.' },
    { quotes: ['Tea is hot. Cats sleep.'], claim: ' ' },
  ];
  const quotations = [
    { text: 'Tea is hot. Cats sleep.', start: 0, end: 65, source: 0 },
    { text: 'All about tea and cats', start: 20, end: 50, source: 1 },
  ];
  const asked: { sampling_params: { max_tokens: number; structured_outputs: { quote_of: unknown } } }[] = [];
  const llm_deployment = {
    count_tokens: () => ({ tokens: 10, max_tokens: 1000 }),
    chat: (args: (typeof asked)[number]) => {
      asked.push(args);
      const message = { role: 'assistant', content: JSON.stringify({ claims }) };
      return { message, details: { finish_reason: 'stop', quotations } };
    },
  };
  const input = { media_id: 'a', question: 'What?', cite: true };
  const { output } = await one.run(
    'video_chat',
    { ...input, sampling_params: { max_tokens: 99 } },
    {},
    { llm_deployment },
  );
  assert.equal(output, {
    completion: 'It is warm.\nIt is about both.',
    claims: [
      { claim: 'It is warm.', quotes: [{ text: 'Tea is hot. Cats sleep.', start: 0, end: 65, source: 'speech' }] },
      { claim: 'It is about both.', quotes: [{ text: 'All about tea and cats', start: 20, end: 50, source: 'slide' }] },
    ],
    left_out: [],
  });
  const { max_tokens: limit, structured_outputs: form } = asked[0]!.sampling_params;
  assert.is(limit, 99);
  assert.equal(form.quote_of, [
    [
      { text: ' Tea is hot.', start: 0, end: 5 },
      { text: ' Cats sleep.', start: 60, end: 65 },
    ],
    [
      { text: 'All about tea and cats', start: 20, end: 50 },
      { text: 'Cats', start: 50, end: 70 },
    ],
  ]);
  for (const sampling_params of [{ stop: ['x'] }, { stop_token_ids: [1] }, { structured_outputs: { choice: ['a'] } }]) {
    const error = await one.failure(one.run('video_chat', { ...input, sampling_params }, {}, { llm_deployment }));
    assert.equal([error.name, error.kind], ['InvalidSamplingParams', 'bad-request']);
  }
  const chat = (): never => {
    const data = [{ loc: ['sampling_params', 'structured_outputs'], msg: 'no source has 5 words' }];
    throw new HostError('InvalidSamplingParams', 'bad-request', 'sampling_params.structured_outputs: …', { data });
  };
  const refused = await one.failure(one.run('video_chat', input, {}, { llm_deployment: { ...llm_deployment, chat } }));
  assert.equal(
    [refused.name, refused.kind, refused.message],
    ['InvalidSamplingParams', 'bad-request', 'quotations are not possible: no source has 5 words'],
  );
  one.speech = [language];
  const { captioning_deployment } = lookers;
  await one.index('b', { video: () => ({ frames: () => frames }) }, {}, { captioning_deployment });
  assert.is(one.repositories.captions.filter(({ media_id: id }) => id === 'b').length, 2);
  const nothing = await one.run('video_chat', { ...input, media_id: 'b' }, {}, { llm_deployment });
  assert.equal((nothing.output as { claims: unknown }).claims, []);
});

test('indexes embedded subtitles where they are asked for', async (one) => {
  const subtitles = '1\n00:00:01,000 --> 00:00:02,500\nTea is hot.\n\n2\n00:01:00,000 --> 00:01:05,000\nCats sleep.\n';
  one.speech = (function* () {
    assert.unreachable('the speech was transcribed');
    yield undefined;
  })();
  const { written } = await one.index('a', { video: () => ({ duration: 70, subtitles }) }, { subtitles: true });
  const parts = written.slice(1, -1) as { segments: { text: string; time_interval: object }[] }[];
  assert.equal(
    parts.map(({ segments }) => segments.map(({ text, time_interval: time }) => [text, time])),
    [[[' Tea is hot.', { start: 1, end: 2.5 }]], [[' Cats sleep.', { start: 60, end: 65 }]]],
  );
  const [row] = one.repositories.transcripts;
  assert.equal(
    [row!.model, row!.transcript, row!.language, row!.segments.length],
    ['subtitles', ' Tea is hot. Cats sleep.', '', 2],
  );
  await one.run('video_chat', { media_id: 'a', question: 'Is tea hot?' });
  assert.match(one.dialogs[0]!, 'Cats sleep.');
});

test('refuses parameters for speech beside subtitles, and leaves nothing of a video without them', async (one) => {
  for (const more of [{ whisper_params: { language: 'en' } }, { vad_params: { chunk_size: 20 } }]) {
    const error = await one.failure(one.index('a', {}, { subtitles: true, ...more }));
    assert.equal((error.data as { loc: unknown }[])[0]!.loc, Object.keys(more));
  }
  const video = () => ({
    get subtitles(): string {
      throw new HostError('VideoReadingException', 'bad-request', 'the file has no subtitles');
    },
  });
  const error = await one.failure(one.index('a', { video }, { subtitles: true }));
  assert.is(error.name, 'VideoReadingException');
  assert.equal([one.repositories.videos, one.repositories.transcripts], [[], []]);
});

Chat.run();
