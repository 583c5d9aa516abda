import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  answerBy,
  asText,
  AsrOutput,
  type Audio,
  type Context,
  defineEndpoint,
  definePlugin,
  HostError,
  type StreamContext,
  textAnswer,
  TextChunk,
  VideoInput,
  withSpeakers,
  z,
} from './node.ts';
import type { MaybePromise } from './maybe-promise.ts';
import { type FakeHost, runEndpoint } from './testing/testing.ts';

const Input = z.strictObject({ video: VideoInput, times: z._default(z.int(), 2) });
const Output = z.strictObject({ text: z.string() });

const named = { name: 'act', path: '/act', summary: 'Acts' } as const;

/** A plugin of one endpoint, `act`. */
function unary(does: (ctx: Context, input: z.infer<typeof Input>) => unknown) {
  const run = (input: z.infer<typeof Input>, ctx: Context) => does(ctx, input) as MaybePromise<{ text: string }>;
  return definePlugin([defineEndpoint({ ...named, input: Input, output: Output, run })]);
}

/** Runs `does` as that endpoint. */
const act = (does: Parameters<typeof unary>[0], fakes: FakeHost = {}, input: object = { video }) =>
  runEndpoint(unary(does), 'act', input, fakes);

type Streaming = (ctx: StreamContext<TextChunk>) => MaybePromise<Iterable<TextChunk> | AsyncIterable<TextChunk> | void>;

function streaming(run: Streaming) {
  return definePlugin([
    defineEndpoint({
      ...named,
      input: z.strictObject({}),
      output: TextChunk,
      stream: true,
      run: (_, ctx) => run(ctx),
    }),
  ]);
}

const video = { path: '/a.mp4' };

async function failure(run: Promise<unknown>): Promise<HostError> {
  try {
    await run;
  } catch (error) {
    assert.instance(error, HostError);
    return error as HostError;
  }
  throw new Error('it did not fail');
}

const Endpoint = suite('endpoints of the SDK');

Endpoint('describe themselves with JSON Schemas that mark file parts', () => {
  const [info] = unary(() => ({ text: '' })).describe();
  assert.is(info?.streaming, false);
  const schema = JSON.parse(info?.inputSchema ?? '');
  assert.equal(schema.required, ['video'], 'what has a default is not required');
  assert.is(schema.properties.video.properties.content.anyOf[0]['x-aana-file'], true);
  assert.is(schema.$schema, 'https://json-schema.org/draft/2020-12/schema');
});

Endpoint('answer with text of a media type that they declare, or the result of a deployment unchecked', async () => {
  const transcript = { segments: [], transcription_info: { language: 'en' }, transcription: { text: '' } };
  const plugin = definePlugin([
    defineEndpoint({
      ...named,
      input: z.strictObject({ format: z._default(z.enum(['json', 'csv']), 'json') }),
      output: answerBy('format', { json: AsrOutput, csv: textAnswer('text/csv') }),
      async run({ format }, ctx) {
        if (format === 'csv') return asText('text/csv', 'a,b');
        const opened = await ctx.video.open(video);
        return ctx.asr.transcribe(await opened.extractAudio());
      },
    }),
  ]);
  const schema = JSON.parse(plugin.describe()[0]?.outputSchema ?? '');
  assert.equal(schema['x-aana-answer-by'], { key: 'format', values: ['json', 'csv'] });
  assert.is(schema.anyOf[1]['x-aana-text'], true);
  const fakes: FakeHost = { deployments: { asr_deployment: { transcribe: () => transcript } } };
  assert.equal((await runEndpoint(plugin, 'act', {}, fakes)).output, transcript);
  assert.equal((await runEndpoint(plugin, 'act', { format: 'csv' }, fakes)).output, {
    media_type: 'text/csv',
    text: 'a,b',
  });
});

Endpoint('transcribe the segments of speech that voice activity detection finds, streams and batches', async () => {
  const vadSegments = [{ time_interval: { start: 1, end: 2 }, segments: [[1, 2]] }];
  const part = (text: string) => ({
    segments: [],
    transcription_info: { language: 'en', language_confidence: 1 },
    transcription: { text },
  });
  const plugin = definePlugin([
    defineEndpoint({
      ...named,
      input: z.strictObject({}),
      output: z.array(z.string()),
      async run(_, ctx) {
        const opened = await ctx.video.open(video);
        const audio = await opened.extractAudio();
        const { segments } = await ctx.vad.asrPreprocessVad(audio, { chunk_size: 20 });
        assert.equal((await ctx.vad('vad_deployment').asrPreprocessVad(audio)).segments, segments);
        const chunks = ctx.asr.transcribeInChunks(audio, { vad_segments: segments, params: { language: 'en' } });
        const stream = ctx.asr.transcribeStream(audio, { beam_size: 2 });
        const batch = await ctx.asr.transcribeBatch([audio, audio]);
        const texts: string[] = [];
        for await (const { transcription } of chunks) texts.push(transcription.text);
        for (const { transcription } of stream) texts.push(transcription.text);
        return [...texts, batch.transcription[1]!.text];
      },
    }),
  ]);
  const { output, calls } = await runEndpoint(
    plugin,
    'act',
    {},
    {
      deployments: {
        vad_deployment: { asr_preprocess_vad: () => ({ segments: vadSegments }) },
        asr_deployment: {
          transcribe_in_chunks: () => [part('a'), part('b')],
          transcribe_stream: () => [part('c')],
          transcribe_batch: () => ({
            segments: [[], []],
            transcription_info: [],
            transcription: [{ text: '' }, { text: 'd' }],
          }),
        },
      },
    },
  );
  assert.equal(output, ['a', 'b', 'c', 'd']);
  const args = new Map(calls.map((call) => [call.method, call.args as Readonly<Record<string, unknown>>]));
  assert.equal(args.get('transcribe_in_chunks')?.['vad_segments'], vadSegments);
  assert.equal(args.get('transcribe_stream')?.['params'], { beam_size: 2 });
});

Endpoint('join the words of a transcript with the answer of a diarization', async () => {
  const words = ['Yes.', 'No.'].map((word, at) => ({
    word: ` ${word}`,
    speaker: null,
    time_interval: { start: at, end: at + 1 },
    alignment_confidence: 1,
  }));
  const spoken = { text: ' Yes. No.', confidence: 1, no_speech_confidence: 0, speaker: null, words };
  const transcript = {
    segments: [{ ...spoken, time_interval: { start: 0, end: 2 } }],
    transcription_info: { language: 'en', language_confidence: 1 },
    transcription: { text: ' Yes. No.' },
  };
  const segments = ['A', 'B'].map((speaker, at) => ({ speaker, time_interval: { start: at, end: at + 1 } }));
  const plugin = definePlugin([
    defineEndpoint({
      ...named,
      input: z.strictObject({}),
      output: AsrOutput,
      async run(_, ctx) {
        const opened = await ctx.video.open(video);
        const audio = await opened.extractAudio();
        const speech = await ctx.diarization.diarize(audio, { max_speakers: 2 });
        assert.equal(await ctx.diarization('other').diarize(audio), speech);
        await ctx.diarization.diarize(audio, null, [{ name: 'Ada', audio }]);
        return withSpeakers(await ctx.asr.transcribe(audio, { word_timestamps: true }), speech);
      },
    }),
  ]);
  const diarize = () => ({ segments });
  const { output, calls } = await runEndpoint(
    plugin,
    'act',
    {},
    {
      deployments: {
        asr_deployment: { transcribe: () => transcript },
        diarization_deployment: { diarize },
        other: { diarize },
      },
    },
  );
  assert.equal(
    (output as AsrOutput).segments.map(({ speaker, text }) => [speaker, text]),
    [
      ['A', ' Yes.'],
      ['B', ' No.'],
    ],
  );
  assert.equal(
    calls.flatMap(({ args }) => (args as { params?: unknown }).params ?? []),
    [{ max_speakers: 2 }, { word_timestamps: true }],
  );
  assert.equal(
    calls
      .flatMap(({ args }) => (args as { known_speakers?: { name: string }[] }).known_speakers ?? [])
      .map(({ name }) => name),
    ['Ada'],
  );
});

Endpoint('compute vectors of texts and put documents in order, by the usual deployments and by others', async () => {
  const plugin = definePlugin([
    defineEndpoint({
      ...named,
      input: z.strictObject({}),
      output: z.any(),
      run: async (_, { embeddings, rerank }) => [
        await embeddings.embed('a', { prompt_name: 'query' }),
        await embeddings('other').embedBatch(['a', 'b']),
        await rerank.rerank('a', ['b'], { top_n: null }),
        await rerank('other').rerank('a', ['b'], { top_n: 1 }),
      ],
    }),
  ]);
  const echo = (args: object): object => ({ args });
  const methods = { embed: echo, embed_batch: echo, rerank: echo };
  const { output, calls } = await runEndpoint(
    plugin,
    'act',
    {},
    { deployments: { embedding_deployment: methods, rerank_deployment: methods, other: methods } },
  );
  const args = [
    { text: 'a', prompt_name: 'query' },
    { sentences: ['a', 'b'] },
    { query: 'a', documents: ['b'] },
    { query: 'a', documents: ['b'], top_n: 1 },
  ];
  assert.equal(
    output,
    args.map((each) => ({ args: each })),
  );
  assert.equal(
    calls.map(({ deployment, method }) => `${deployment} ${method}`),
    ['embedding_deployment embed', 'other embed_batch', 'rerank_deployment rerank', 'other rerank'],
  );
});

Endpoint('read the texts in images by the usual deployment and by others', async () => {
  const plugin = definePlugin([
    defineEndpoint({
      ...named,
      input: z.strictObject({}),
      output: z.any(),
      run: async (_, { image, ocr }) => {
        const images = [await image.open({ path: '/a' }), await image.open({ path: '/b' })] as const;
        return [
          await ocr.recognize(images[0]),
          await ocr('other').recognize(images[1]),
          await ocr.recognizeBatch(images),
          await ocr('other').recognizeBatch([images[1], images[1]]),
        ];
      },
    }),
  ]);
  const echo = (args: object): object => ({ args });
  const methods = { recognize: echo, recognize_batch: echo };
  const { output, calls } = await runEndpoint(
    plugin,
    'act',
    {},
    {
      image: ({ path }) => ({ format: path ?? '' }),
      deployments: { ocr_deployment: methods, other: methods },
    },
  );
  const [a, b] = ['/a', '/b'].map((format) => ({ width: 640, height: 480, format }));
  assert.equal(
    output,
    [{ image: a }, { image: b }, { images: [a, b] }, { images: [b, b] }].map((args) => ({ args })),
  );
  assert.equal(
    calls.map(({ deployment, method }) => `${deployment} ${method}`),
    ['ocr_deployment recognize', 'other recognize', 'ocr_deployment recognize_batch', 'other recognize_batch'],
  );
});

Endpoint('get their input with defaults filled in', async () => {
  const { output } = await act((_, { times }) => ({ text: 'a'.repeat(times) }));
  assert.equal(output, { text: 'aa' });
});

Endpoint('refuse an input that does not match, with one entry a thing', async () => {
  const error = await failure(act(() => ({ text: '' }), {}, { video: {}, more: 1 }));
  assert.is(error.kind, 'invalid-input');
  assert.is(error.name, 'ValidationError');
  assert.equal(
    (error.data as { type: string; loc: unknown }[]).map(({ type, loc }) => ({ type, loc })),
    [
      { type: 'value_error', loc: ['video'] },
      { type: 'extra_forbidden', loc: ['more'] },
    ],
  );
});

Endpoint('fail as internal when their output does not match', async () => {
  const error = await failure(act(() => ({ text: 5 })));
  assert.is(error.kind, 'internal');
  assert.match(error.message, /does not match its schema.*text: Input should be a valid string/);
});

Endpoint('pass an error of the host on unchanged', async () => {
  const fakes: FakeHost = {
    video: () => {
      throw new HostError('DownloadException', 'bad-request', 'cannot fetch it', { data: { url: 'http://a' } });
    },
  };
  const error = await failure(act((ctx) => ctx.video.open(video), fakes));
  assert.equal(
    [error.name, error.kind, error.message, error.data],
    ['DownloadException', 'bad-request', 'cannot fetch it', { url: 'http://a' }],
  );
});

Endpoint('can catch an error of the host by its name', async () => {
  const plugin = unary(async (ctx) => {
    try {
      return await ctx.deployment('absent').call('x');
    } catch (error) {
      return { text: error instanceof HostError ? `${error.kind} ${error.name}` : 'other' };
    }
  });
  assert.equal((await runEndpoint(plugin, 'act', { video })).output, { text: 'not-found DeploymentNotFound' });
});

Endpoint('turn an error of their own into one of kind internal with its class name, and log where it came from', () => {
  const logs: unknown[] = [];
  const plugin = unary(() => (undefined as unknown as { a: string }).a);
  const host = hostThatLogs(logs);
  try {
    plugin.endpoints[0]?.run(host, JSON.stringify({ video }));
    assert.unreachable();
  } catch (thrown) {
    assert.is((thrown as { kind: string }).kind, 'internal');
    assert.is((thrown as { name: string }).name, 'TypeError');
    assert.not.instance(thrown, Error, 'a plain record crosses the border');
  }
  assert.match(JSON.stringify(logs), /endpoint\.test/);
});

Endpoint('wait for an asynchronous run, and fail with its error', async () => {
  const plugin = unary(async (ctx, { times }) => {
    const { tokens } = await ctx.llm.countTokens({ text: 'a' });
    if (times > 5) throw new HostError('TooMany', 'too-large', 'too many');
    return { text: 'a'.repeat(tokens * times) };
  });
  const fakes: FakeHost = { deployments: { llm_deployment: { count_tokens: () => ({ tokens: 2, max_tokens: 9 }) } } };
  assert.equal((await runEndpoint(plugin, 'act', { video }, fakes)).output, { text: 'aaaa' });
  const { name, kind } = await failure(runEndpoint(plugin, 'act', { video, times: 6 }, fakes));
  assert.equal([name, kind], ['TooMany', 'too-large']);
  const wrong = await failure(act(async () => ({ text: 5 })));
  assert.is(wrong.name, 'OutputError', 'what it resolves with is checked');
});

const counting: FakeHost = {
  deployments: {
    llm_deployment: {
      count_tokens({ text }: { text: string }) {
        if (text === 'bad') throw new HostError('NoText', 'bad-request', 'no text');
        return { tokens: text.length, max_tokens: 9 };
      },
    },
  },
};

Endpoint('name the model of a deployment with many, and the fakes tell it', async () => {
  const words: Record<string, string> = { de: 'Hund', fr: 'chien' };
  const translate = ({ word }: { word: string }, { multiplexedModelId: model = '' }): string => words[model] ?? word;
  const { output, calls } = await act(
    async (ctx) => {
      const german = ctx.deployment('glossary').options({ multiplexedModelId: 'de' });
      const told: string[] = [];
      for (const one of [german, german.options({ multiplexedModelId: 'fr' }), german.options({}), ctx.llm('glossary')])
        told.push(await one.call('translate', { word: 'dog' }));
      const llm = ctx.llm('glossary').options({ multiplexedModelId: 'fr' });
      return { text: [...told, (await llm.countTokens({ text: 'a' })).tokens].join() };
    },
    { deployments: { glossary: { translate, count_tokens: () => ({ tokens: 1, max_tokens: 2 }) } } },
  );
  assert.equal(output, { text: 'Hund,chien,Hund,dog,1' });
  assert.equal(
    calls.map(({ multiplexedModelId }) => multiplexedModelId),
    ['de', 'fr', 'de', undefined, 'fr'],
  );
  assert.equal(calls.at(-1), {
    ...{ deployment: 'glossary', method: 'count_tokens', args: { text: 'a' } },
    multiplexedModelId: 'fr',
  });
});

Endpoint('wait for several calls of the host with Promise.all, also when one fails', async () => {
  const plugin = unary(async (ctx) => {
    const both = await Promise.all([ctx.llm.countTokens({ text: 'ab' }), ctx.llm.countTokens({ text: 'c' })]);
    const settled = await Promise.allSettled([ctx.llm.countTokens({ text: 'bad' }), ctx.llm.countTokens({ text: '' })]);
    return { text: [...both.map(({ tokens }) => tokens), ...settled.map(({ status }) => status)].join(' ') };
  });
  const { output, calls } = await runEndpoint(plugin, 'act', { video }, counting);
  assert.equal(output, { text: '2 1 rejected fulfilled' });
  assert.equal(
    calls.map(({ args }) => (args as { text: string }).text),
    ['ab', 'c', 'bad', ''],
  );
  const failing = unary((ctx) => Promise.all(['a', 'bad'].map((text) => ctx.llm.countTokens({ text }))));
  assert.is((await failure(runEndpoint(failing, 'act', { video }, counting))).name, 'NoText');
});

Endpoint('wait for a call in a synchronous run with ctx.wait, which returns or throws', async () => {
  const plugin = unary((ctx) => {
    const opened = ctx.wait(ctx.video.open(video));
    const { duration } = ctx.wait(opened.extractAudio());
    const later = ctx.llm.countTokens({ text: 'abc' });
    const { tokens } = ctx.wait(ctx.llm.countTokens({ text: 'ab' }));
    try {
      return { text: String(ctx.wait(ctx.llm.countTokens({ text: 'bad' })).tokens) };
    } catch (error) {
      const { name } = error as HostError;
      return { text: [duration, tokens, name, error instanceof HostError, ctx.wait(later).tokens].join(' ') };
    }
  });
  assert.equal((await runEndpoint(plugin, 'act', { video }, counting)).output, { text: '10 2 NoText true 3' });
});

Endpoint('refuse ctx.wait for a promise that no call of the host returned', async () => {
  const refused = [
    unary((ctx) => ctx.wait(Promise.resolve({ text: 'a' }))),
    unary((ctx) => ctx.wait(ctx.llm.countTokens({ text: 'a' }).then(({ tokens }) => ({ text: `${tokens}` })))),
  ];
  for (const plugin of refused) {
    const error = await failure(runEndpoint(plugin, 'act', { video }, counting));
    assert.match(error.message, /ctx\.wait takes the promise that a call of the host returned; use "await"/);
  }
});

Endpoint('fail with a reason when await is missing in the output or in the arguments of a call', async () => {
  const textless = await failure(act((ctx) => ({ text: ctx.llm.countTokens({ text: 'a' }) }), counting));
  assert.match(textless.message, /text: Input should be a valid string/);
  const unchecked = definePlugin([
    defineEndpoint({
      ...named,
      input: z.strictObject({}),
      output: z.any(),
      run: (_, ctx) => ({ counts: [ctx.llm.countTokens({ text: 'a' })] }),
    }),
  ]);
  const error = await failure(runEndpoint(unchecked, 'act', {}, counting));
  assert.equal([error.name, error.kind], ['TypeError', 'internal']);
  assert.is(error.message, 'a promise is no JSON value: "await" is missing');
  const early = unary((ctx) => ctx.deployment('asr').call('transcribe', { audio: ctx.video.open(video) }));
  assert.is((await failure(runEndpoint(early, 'act', { video }))).message, error.message);
});

Endpoint('refuse an initialize that is asynchronous', () => {
  const plugin = definePlugin([
    defineEndpoint({
      ...named,
      input: z.strictObject({}),
      output: z.any(),
      initialize: async () => 1,
      run: () => null,
    }),
  ]);
  assert.throws(() => plugin.describe(), /initialize of the endpoint "act" is async/);
});

Endpoint('hand audio to deployments by index, wherever it stands in the arguments', async () => {
  const plugin = unary(async (ctx) => {
    const opened = await ctx.video.open(video);
    const audio = await opened.extractAudio({ channels: 'separate' });
    return ctx
      .deployment('asr')
      .call('two', { first: audio, nested: [{ audio }], text: `${opened.info.duration} ${audio.duration}` });
  });
  const two = ({ first, nested, text }: { first: unknown; nested: { audio: unknown }[]; text: string }) => {
    assert.equal(first, { duration: 3, channels: 'separate' });
    assert.is(nested[0]?.audio, first);
    return { text };
  };
  assert.equal(
    (await runEndpoint(plugin, 'act', { video }, { video: () => ({ duration: 3 }), deployments: { asr: { two } } }))
      .output,
    { text: '3 3' },
  );
});

Endpoint('see what a page says of a video that was downloaded from it, and nothing for a file', async () => {
  const plugin = unary(async (ctx) => {
    using opened = await ctx.video.open(video);
    return { text: JSON.stringify([opened.metadata.title ?? null, opened.metadata.description ?? null]) };
  });
  assert.equal(
    (await runEndpoint(plugin, 'act', { video }, { video: () => ({ title: 'Tea', description: 'And cups' }) })).output,
    { text: '["Tea","And cups"]' },
  );
  assert.equal((await runEndpoint(plugin, 'act', { video })).output, { text: '[null,null]' });
});

Endpoint('close every handle when they end, also by an error, and let plugins close earlier', async () => {
  // runEndpoint fails when a handle stays open or is closed twice
  const open = async (ctx: Context): Promise<Audio> => (await ctx.video.open(video)).extractAudio();
  await act(async (ctx) => (await open(ctx), { text: '' }));
  await act(async (ctx) => ((await open(ctx))[Symbol.dispose](), { text: '' }));
  const error = await failure(
    act(async (ctx) => {
      await open(ctx);
      throw new RangeError('later');
    }),
  );
  assert.is(error.name, 'RangeError');
});

const words: FakeHost = {
  deployments: {
    llm: {
      *chat_stream() {
        yield { text: 'a' };
        yield { text: 'b' };
        yield { text: 'c' };
      },
    },
  },
};
const dialog = { messages: [{ role: 'user' as const, content: 'Hi' }] };

Endpoint('stream by writing, by yielding and by forwarding', async () => {
  const ways: Streaming[] = [
    (ctx) => {
      for (const chunk of ctx.llm('llm').chatStream(dialog)) ctx.write(chunk);
    },
    async (ctx) => {
      for await (const chunk of ctx.llm('llm').chatStream(dialog)) ctx.write(chunk);
    },
    function* (ctx) {
      yield* ctx.llm('llm').chatStream(dialog);
    },
    async function* (ctx) {
      yield* ctx.llm('llm').chatStream(dialog);
    },
    async function* (ctx) {
      for await (const chunk of ctx.llm('llm').chatStream(dialog)) yield chunk;
    },
    (ctx) => ctx.forward(ctx.llm('llm').chatStream(dialog)),
    (ctx) => ctx.llm('llm').chatStream(dialog),
    async (ctx) => ctx.llm('llm').chatStream(dialog),
  ];
  for (const way of ways) {
    const { output, written } = await runEndpoint(streaming(way), 'act', {}, words);
    assert.is(output, null);
    assert.equal(written, [{ text: 'a' }, { text: 'b' }, { text: 'c' }]);
  }
});

Endpoint('cancel a stream whose loop is left early', async () => {
  let finished: boolean;
  const fakes: FakeHost = {
    deployments: {
      llm: {
        *chat_stream() {
          try {
            for (;;) yield { text: 'a' };
          } finally {
            finished = true;
          }
        },
      },
    },
  };
  const ways: Streaming[] = [
    (ctx) => {
      for (const chunk of ctx.llm('llm').chatStream(dialog)) {
        ctx.write(chunk);
        break;
      }
      assert.ok(finished, 'cancelled before run ends');
    },
    async (ctx) => {
      for await (const chunk of ctx.llm('llm').chatStream(dialog)) {
        ctx.write(chunk);
        break;
      }
      assert.ok(finished, 'cancelled before run ends');
    },
  ];
  for (const way of ways) {
    finished = false;
    assert.equal((await runEndpoint(streaming(way), 'act', {}, fakes)).written, [{ text: 'a' }]);
  }
});

Endpoint('end when the client has gone', async () => {
  const gone = (): never => {
    throw new HostError('CancelledError', 'cancelled', 'the client has gone');
  };
  const plugin = streaming((ctx) => ctx.forward(ctx.llm('llm').chatStream(dialog)));
  assert.is((await failure(runEndpoint(plugin, 'act', {}, { ...words, onWrite: gone }))).kind, 'cancelled');
});

Endpoint('refuse to stream a value that does not match', async () => {
  const plugin = streaming((ctx) => ctx.write({ words: 'a' } as unknown as TextChunk));
  assert.is((await failure(runEndpoint(plugin, 'act', {}))).kind, 'internal');
});

Endpoint("know the request, the time left and the log, and make UUIDs of the host's bytes", async () => {
  const plugin = unary((ctx) => {
    ctx.log.info('running', {
      id: ctx.requestId,
      left: ctx.remainingMs,
      cancelled: ctx.isCancelled(),
      user: ctx.user,
      priority: ctx.priority,
    });
    return { text: ctx.random.uuid() };
  });
  const { output, logs } = await runEndpoint(
    plugin,
    'act',
    { video },
    { remainingMs: () => 5, user: 'Zoë', priority: 2 },
  );
  assert.match(
    (output as { text: string }).text,
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  assert.equal(logs, [
    {
      level: 'info',
      message: 'running',
      fields: { id: 'test-request', left: 5, cancelled: false, user: 'Zoë', priority: 2 },
    },
  ]);
});

Endpoint('of one plugin have different names', () => {
  const make = () =>
    defineEndpoint({
      name: 'a',
      path: '/a',
      summary: '',
      input: z.strictObject({}),
      output: Output,
      run: () => ({ text: '' }),
    });
  assert.throws(() => definePlugin([make(), make()]), /same name/);
});

Endpoint('with GET is marked in its input schema', () => {
  const marked = (method: 'GET' | 'POST' | undefined): unknown => {
    const made = {
      name: 'a',
      path: '/a/{id}',
      summary: '',
      input: z.strictObject({ id: z.string() }),
      output: z.any(),
    };
    const { info } = defineEndpoint({ ...made, ...(method && { method }), run: () => 1 });
    return JSON.parse(info.inputSchema)['x-aana-method'];
  };
  assert.equal([marked('GET'), marked('POST'), marked(undefined)], ['get', undefined, undefined]);
});

function hostThatLogs(lines: unknown[]): Parameters<ReturnType<typeof defineEndpoint>['run']>[0] {
  const absent = (): never => {
    throw new Error('not used');
  };
  return {
    log: { log: (...line) => void lines.push(line) },
    random: { bytes: absent },
    invocation: {
      requestId: () => 'r',
      remainingMs: () => 1n,
      user: () => undefined,
      priority: () => 0,
      traceparent: () => undefined,
      isCancelled: () => false,
    },
    settings: { get: absent },
    progress: { report: absent, reportStep: absent },
    output: { write: absent, forward: absent, begin: absent, send: absent },
    uploads: { info: absent, read: absent, readText: absent },
    media: { Video: { open: absent }, Image: { open: absent, decode: absent, decodeBase64: absent } },
    deployments: { call: absent, open: absent, callWithImages: absent, openWithImages: absent },
    now: () => 0,
    monotonicNow: () => 0,
  };
}

Endpoint.run();
