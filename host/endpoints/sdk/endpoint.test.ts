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
import { type FakeHost, runEndpoint } from './testing/testing.ts';

const Input = z.strictObject({ video: VideoInput, times: z._default(z.int(), 2) });
const Output = z.strictObject({ text: z.string() });

/** A plugin of one endpoint that does `act`. */
function unary(act: (ctx: Context, input: z.infer<typeof Input>) => unknown) {
  const run = (input: z.infer<typeof Input>, ctx: Context): { text: string } => act(ctx, input) as { text: string };
  return definePlugin([
    defineEndpoint({ name: 'act', path: '/act', summary: 'Acts', input: Input, output: Output, run }),
  ]);
}

function streaming(run: (ctx: StreamContext<TextChunk>) => Iterable<TextChunk> | void) {
  return definePlugin([
    defineEndpoint({
      name: 'act',
      path: '/act',
      summary: 'Acts',
      input: z.strictObject({}),
      output: TextChunk,
      stream: true,
      run: (_, ctx) => run(ctx),
    }),
  ]);
}

const video = { path: '/a.mp4' };

function failure(run: () => unknown): HostError {
  try {
    run();
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

Endpoint('answer with text of a media type that they declare, or with the result of a deployment unchecked', () => {
  const transcript = { segments: [], transcription_info: { language: 'en' }, transcription: { text: '' } };
  const plugin = definePlugin([
    defineEndpoint({
      name: 'act',
      path: '/act',
      summary: 'Acts',
      input: z.strictObject({ format: z._default(z.enum(['json', 'csv']), 'json') }),
      output: answerBy('format', { json: AsrOutput, csv: textAnswer('text/csv') }),
      run: ({ format }, ctx) =>
        format === 'csv' ? asText('text/csv', 'a,b') : ctx.asr.transcribe(ctx.video.open(video).extractAudio()),
    }),
  ]);
  const schema = JSON.parse(plugin.describe()[0]?.outputSchema ?? '');
  assert.equal(schema['x-aana-answer-by'], { key: 'format', values: ['json', 'csv'] });
  assert.is(schema.anyOf[1]['x-aana-text'], true);
  const fakes: FakeHost = { deployments: { asr_deployment: { transcribe: () => transcript } } };
  assert.equal(runEndpoint(plugin, 'act', {}, fakes).output, transcript);
  assert.equal(runEndpoint(plugin, 'act', { format: 'csv' }, fakes).output, { media_type: 'text/csv', text: 'a,b' });
});

Endpoint('transcribe the segments of speech that voice activity detection finds, streams and batches', () => {
  const vadSegments = [{ time_interval: { start: 1, end: 2 }, segments: [[1, 2]] }];
  const part = (text: string) => ({
    segments: [],
    transcription_info: { language: 'en', language_confidence: 1 },
    transcription: { text },
  });
  const plugin = definePlugin([
    defineEndpoint({
      name: 'act',
      path: '/act',
      summary: 'Acts',
      input: z.strictObject({}),
      output: z.array(z.string()),
      run(_, ctx) {
        const audio = ctx.video.open(video).extractAudio();
        const { segments } = ctx.vad.asrPreprocessVad(audio, { chunk_size: 20 });
        assert.equal(ctx.vad('vad_deployment').asrPreprocessVad(audio).segments, segments);
        const chunks = ctx.asr.transcribeInChunks(audio, { vad_segments: segments, params: { language: 'en' } });
        const stream = ctx.asr.transcribeStream(audio, { beam_size: 2 });
        const batch = ctx.asr.transcribeBatch([audio, audio]);
        return [...chunks, ...stream]
          .map(({ transcription }) => transcription.text)
          .concat(batch.transcription[1]!.text);
      },
    }),
  ]);
  const { output, calls } = runEndpoint(
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

Endpoint('join the words of a transcript with the answer of a diarization', () => {
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
      name: 'act',
      path: '/act',
      summary: 'Acts',
      input: z.strictObject({}),
      output: AsrOutput,
      run(_, ctx) {
        const audio = ctx.video.open(video).extractAudio();
        const speech = ctx.diarization.diarize(audio, { max_speakers: 2 });
        assert.equal(ctx.diarization('other').diarize(audio), speech);
        ctx.diarization.diarize(audio, null, [{ name: 'Ada', audio }]);
        return withSpeakers(ctx.asr.transcribe(audio, { word_timestamps: true }), speech);
      },
    }),
  ]);
  const diarize = () => ({ segments });
  const { output, calls } = runEndpoint(
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

Endpoint('get their input with defaults filled in', () => {
  const { output } = runEndpoint(
    unary((_, { times }) => ({ text: 'a'.repeat(times) })),
    'act',
    { video },
  );
  assert.equal(output, { text: 'aa' });
});

Endpoint('refuse an input that does not match, with one entry a thing', () => {
  const error = failure(() =>
    runEndpoint(
      unary(() => ({ text: '' })),
      'act',
      { video: {}, more: 1 },
    ),
  );
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

Endpoint('fail as internal when their output does not match', () => {
  const error = failure(() =>
    runEndpoint(
      unary(() => ({ text: 5 })),
      'act',
      { video },
    ),
  );
  assert.is(error.kind, 'internal');
  assert.match(error.message, /does not match its schema.*text: Input should be a valid string/);
});

Endpoint('pass an error of the host on unchanged', () => {
  const fakes: FakeHost = {
    video: () => {
      throw new HostError('DownloadException', 'bad-request', 'cannot fetch it', { data: { url: 'http://a' } });
    },
  };
  const error = failure(() =>
    runEndpoint(
      unary((ctx) => ctx.video.open(video)),
      'act',
      { video },
      fakes,
    ),
  );
  assert.equal(
    [error.name, error.kind, error.message, error.data],
    ['DownloadException', 'bad-request', 'cannot fetch it', { url: 'http://a' }],
  );
});

Endpoint('can catch an error of the host by its name', () => {
  const plugin = unary((ctx) => {
    try {
      return ctx.deployment('absent').call('x');
    } catch (error) {
      return { text: error instanceof HostError ? `${error.kind} ${error.name}` : 'other' };
    }
  });
  assert.equal(runEndpoint(plugin, 'act', { video }).output, { text: 'not-found NotFoundError' });
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

Endpoint('fail with a reason when run is async', () => {
  const error = failure(() =>
    runEndpoint(
      unary(() => Promise.resolve({ text: 'a' })),
      'act',
      { video },
    ),
  );
  assert.match(error.message, /leave out async and await/);
});

Endpoint('hand audio to deployments by index, wherever it stands in the arguments', () => {
  const plugin = unary((ctx) => {
    const opened = ctx.video.open(video);
    const audio = opened.extractAudio({ channels: 'separate' });
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
    runEndpoint(plugin, 'act', { video }, { video: () => ({ duration: 3 }), deployments: { asr: { two } } }).output,
    { text: '3 3' },
  );
});

Endpoint('see what a page says of a video that was downloaded from it, and nothing for a file', () => {
  const plugin = unary((ctx) => {
    using opened = ctx.video.open(video);
    return { text: JSON.stringify([opened.metadata.title ?? null, opened.metadata.description ?? null]) };
  });
  assert.equal(
    runEndpoint(plugin, 'act', { video }, { video: () => ({ title: 'Tea', description: 'And cups' }) }).output,
    { text: '["Tea","And cups"]' },
  );
  assert.equal(runEndpoint(plugin, 'act', { video }).output, { text: '[null,null]' });
});

Endpoint('close every handle when they end, also by an error, and let plugins close earlier', () => {
  // runEndpoint fails when a handle stays open or is closed twice
  const open = (ctx: Context): Audio => ctx.video.open(video).extractAudio();
  runEndpoint(
    unary((ctx) => (open(ctx), { text: '' })),
    'act',
    { video },
  );
  runEndpoint(
    unary((ctx) => (open(ctx)[Symbol.dispose](), { text: '' })),
    'act',
    { video },
  );
  const error = failure(() =>
    runEndpoint(
      unary((ctx) => {
        open(ctx);
        throw new RangeError('later');
      }),
      'act',
      { video },
    ),
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

Endpoint('stream by writing, by yielding and by forwarding', () => {
  const ways: ((ctx: StreamContext<TextChunk>) => Iterable<TextChunk> | void)[] = [
    (ctx) => {
      for (const chunk of ctx.llm('llm').chatStream(dialog)) ctx.write(chunk);
    },
    function* (ctx) {
      yield* ctx.llm('llm').chatStream(dialog);
    },
    (ctx) => ctx.forward(ctx.llm('llm').chatStream(dialog)),
  ];
  for (const way of ways) {
    const { output, written } = runEndpoint(streaming(way), 'act', {}, words);
    assert.is(output, null);
    assert.equal(written, [{ text: 'a' }, { text: 'b' }, { text: 'c' }]);
  }
});

Endpoint('cancel a stream whose loop is left early', () => {
  let finished = false;
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
  const plugin = streaming((ctx) => {
    for (const chunk of ctx.llm('llm').chatStream(dialog)) {
      ctx.write(chunk);
      break;
    }
    assert.ok(finished, 'cancelled before run ends');
  });
  assert.equal(runEndpoint(plugin, 'act', {}, fakes).written, [{ text: 'a' }]);
});

Endpoint('end when the client has gone', () => {
  const gone = (): never => {
    throw new HostError('CancelledError', 'cancelled', 'the client has gone');
  };
  const plugin = streaming((ctx) => ctx.forward(ctx.llm('llm').chatStream(dialog)));
  assert.is(failure(() => runEndpoint(plugin, 'act', {}, { ...words, onWrite: gone })).kind, 'cancelled');
});

Endpoint('refuse to stream a value that does not match', () => {
  const plugin = streaming((ctx) => ctx.write({ words: 'a' } as unknown as TextChunk));
  assert.is(failure(() => runEndpoint(plugin, 'act', {})).kind, 'internal');
});

Endpoint("know the request, the time left and the log, and make UUIDs of the host's bytes", () => {
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
  const { output, logs } = runEndpoint(plugin, 'act', { video }, { remainingMs: () => 5, user: 'Zoë', priority: 2 });
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
    progress: { report: absent, reportStep: absent },
    output: { write: absent, forward: absent },
    media: { Video: { open: absent }, Image: { open: absent, decode: absent } },
    deployments: { call: absent, open: absent, callWithImages: absent, openWithImages: absent },
    now: () => 0,
    monotonicNow: () => 0,
  };
}

Endpoint.run();
