import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../base/core/clock.ts';
import { AanaError } from '../../../base/core/errors.ts';
import { noTelemetry, withSpans } from '../../../base/core/telemetry.ts';
import { samplerOf } from '../../../base/telemetry/traces/sampler.ts';
import type { SpanRecord } from '../../../base/telemetry/traces/span-record.ts';
import { Tracer } from '../../../base/telemetry/traces/tracer.ts';
import { Recorder } from '../../../application/fixtures/recorder.ts';
import { GenerationTelemetry } from './generation-telemetry.ts';

/** The last digits of a time since the epoch are lost in sums. */
const ROUNDING_MS = 0.002;

const Generated = suite('the telemetry of generation');

const OF_MODEL = { 'gen_ai.provider.name': 'aana', 'gen_ai.request.model': 'llm' };
const CHAT = { 'gen_ai.operation.name': 'chat', ...OF_MODEL };
const usage = { prompt_tokens: 7, cached_tokens: 0, completion_tokens: 5 };

interface Setting {
  readonly recorder: Recorder;
  readonly telemetry: GenerationTelemetry;
  /** A stream of `batches`, each a second after the one before, which returns `end` a second later. */
  stream(batches: readonly unknown[][], end: unknown): AsyncGenerator<unknown[], unknown, undefined>;
  /** Milliseconds. */
  pass(ms: number): void;
}

function setting(): Setting {
  const recorder = new Recorder();
  let now = 0;
  return {
    recorder,
    telemetry: new GenerationTelemetry(recorder, { now: () => now }),
    pass: (ms) => void (now += ms),
    async *stream(batches, end) {
      for (const batch of batches) {
        now += 1000;
        yield batch;
      }
      now += 1000;
      if (end instanceof Error) throw end;
      return end;
    },
  };
}

const chat = { operation: 'chat', deployment: 'llm', args: {}, traceparent: undefined } as const;

Generated('has the time to the first token and between tokens of a stream', async () => {
  const { recorder, telemetry, stream } = setting();
  const values = telemetry.stream(chat, () => stream([['a'], ['b', 'c']], { usage }));
  const batches: unknown[] = [];
  let step = await values.next();
  for (; !step.done; step = await values.next()) batches.push(step.value);
  assert.equal(batches, [['a'], ['b', 'c']]);
  assert.equal(step.value, { usage });
  assert.equal(recorder.of('gen_ai.server.request.duration'), [{ value: 3, attributes: CHAT }]);
  assert.equal(recorder.of('gen_ai.server.time_to_first_token'), [{ value: 1, attributes: CHAT }]);
  assert.equal(recorder.of('gen_ai.server.time_per_output_token'), [{ value: 0.5, attributes: CHAT }]);
  assert.equal(recorder.of('gen_ai.client.token.usage'), [
    { value: 7, attributes: { ...CHAT, 'gen_ai.token.type': 'input' } },
    { value: 5, attributes: { ...CHAT, 'gen_ai.token.type': 'output' } },
  ]);
});

Generated('does not take what a stream tells about the call for its first token', async () => {
  for (const notice of [{ prompt_tokens: 7 }, { unbound: ['#/tools'] }]) {
    const { recorder, telemetry, stream } = setting();
    for await (const _ of telemetry.stream(chat, () => stream([[{ text: '', ...notice }], ['a']], { usage })));
    assert.equal(recorder.of('gen_ai.server.time_to_first_token'), [{ value: 2, attributes: CHAT }]);
  }
});

Generated('has only a duration for a stream that its reader leaves, and closes the stream', async () => {
  const { recorder, telemetry, stream } = setting();
  for await (const _ of telemetry.stream(chat, () => stream([['a'], ['b']], undefined))) break;
  assert.equal(recorder.values, [
    { name: 'gen_ai.server.request.duration', value: 1, attributes: { ...CHAT, 'error.type': 'cancelled' } },
  ]);
});

Generated('names the party at fault for a failure', async () => {
  const { recorder, telemetry, stream, pass } = setting();
  const failure = new AanaError('PromptTooLongException', 'invalid-input', 'too long');
  const run = async (): Promise<never> => {
    pass(2000);
    throw failure;
  };
  const values = telemetry.stream(chat, () => stream([['a']], failure));
  const failures = [telemetry.call(chat, run), values.next().then(() => values.next())];
  for (const one of failures) assert.is(await one.catch((error: unknown) => error), failure);
  assert.equal(
    recorder.of('gen_ai.server.request.duration').map(({ attributes }) => attributes['error.type']),
    ['caller', 'caller'],
  );
});

Generated('has the tokens that each kind of result tells', async () => {
  const cases: [result: unknown, input: number[], output: number[]][] = [
    [{ text: 'a', details: { usage } }, [7], [5]],
    [{ texts: ['a', 'b'], details: [{ usage }, { usage }] }, [14], [10]],
    [{ embedding: [0], tokens: 3 }, [3], []],
    [{ embedding: [[0], [0]], tokens: [3, 4] }, [7], []],
    [{ text: 'a' }, [], []],
    [{ texts: ['a'], details: [null] }, [], []],
    [undefined, [], []],
  ];
  for (const [result, input, output] of cases) {
    const { recorder, telemetry } = setting();
    assert.is(await telemetry.call(chat, async () => result), result);
    const told = (type: string): number[] =>
      recorder
        .of('gen_ai.client.token.usage')
        .filter(({ attributes }) => attributes['gen_ai.token.type'] === type)
        .map(({ value }) => value);
    assert.equal([told('input'), told('output')], [input, output], JSON.stringify(result));
  }
});

const DIALOG = {
  dialog: {
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', image: { pixels: 'secret' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
      },
      { role: 'tool', content: 'a cat', tool_call_id: 'c1' },
      {
        role: 'tool',
        content: [
          { type: 'text', text: 'a dog' },
          { type: 'image', image: { pixels: 'secret' } },
          { type: 'audio', audio: { channels: 'secret' } },
        ],
        tool_call_id: 'c2',
      },
    ],
  },
};
const MESSAGES = [
  { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
  { role: 'user', parts: [{ type: 'text', content: 'What is this?' }, { type: 'image' }] },
  { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1', name: 'look', arguments: '{"at":1}' }] },
  { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'a cat' }] },
  {
    role: 'tool',
    parts: [
      {
        type: 'tool_call_response',
        id: 'c2',
        response: [{ type: 'text', content: 'a dog' }, { type: 'image' }, { type: 'audio' }],
      },
    ],
  },
];

/** Returns the content of the last span. */
function contentOf({ spans }: Recorder): Record<'input' | 'output', unknown> {
  const span = spans.at(-1);
  const all = { ...span?.attributes, ...span?.outcome?.attributes };
  const read = (name: string): unknown => (all[name] === undefined ? undefined : JSON.parse(String(all[name])));
  return { input: read('gen_ai.input.messages'), output: read('gen_ai.output.messages') };
}

Generated('has no prompt and no answer in its spans, unless they take them', async () => {
  const result = { message: { role: 'assistant', content: 'A cat.' }, details: { usage, finish_reason: 'stop' } };
  const answer = { role: 'assistant', parts: [{ type: 'text', content: 'A cat.' }], finish_reason: 'stop' };
  const { recorder, telemetry } = setting();
  const asked = { ...chat, args: DIALOG };
  await telemetry.call(asked, async () => result);
  assert.not.match(JSON.stringify(recorder.spans), /brief|cat/);
  recorder.takesContent = true;
  await telemetry.call(asked, async () => result);
  assert.equal(contentOf(recorder), { input: MESSAGES, output: [answer] });
  assert.not.match(JSON.stringify(recorder.spans), /secret/);
  const completion = { operation: 'text_completion', deployment: 'llm', traceparent: undefined } as const;
  const texts = { texts: ['b', 'd'], details: [null, null] };
  await telemetry.call({ ...completion, args: { prompts: ['a', 'c'] } }, async () => texts);
  const said = (role: string, ...all: string[]): unknown[] =>
    all.map((content) => ({ role, parts: [{ type: 'text', content }] }));
  assert.equal(contentOf(recorder), { input: said('user', 'a', 'c'), output: said('assistant', 'b', 'd') });
  await telemetry.call({ ...completion, args: { prompt: [1, 2] } }, async () => ({ text: 'x'.repeat(100_000) }));
  assert.equal(contentOf(recorder).input, [{ role: 'user', parts: [{ type: 'text', content: [1, 2] }] }]);
  const { output } = contentOf(recorder) as { output: { parts: { content: string }[] }[] };
  assert.ok((output[0]?.parts[0]?.content.length ?? 0) < 33_000, 'a long answer is cut');
});

Generated('has the pieces of streamed answers in its spans as whole texts', async () => {
  const { recorder, telemetry, stream } = setting();
  recorder.takesContent = true;
  const call = { index: 0, id: 'c1', type: 'function', function: { name: 'look', arguments: '{"a' } };
  const batches = [
    [{ text: '', reasoning_content: 'Hm' }, { text: 'A ' }],
    [
      { text: 'cat', reasoning_content: '.' },
      { index: 1, text: '', tool_calls: [call] },
    ],
    [{ index: 1, text: '', tool_calls: [{ index: 0, function: { arguments: 't":1}' } }] }],
  ];
  const end = { usage, finish_reason: 'stop', choices: [{ finish_reason: 'stop' }, { finish_reason: 'tool_calls' }] };
  for await (const _ of telemetry.stream({ ...chat, args: DIALOG }, () => stream(batches, end)));
  assert.equal(contentOf(recorder).output, [
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', content: 'Hm.' },
        { type: 'text', content: 'A cat' },
      ],
      finish_reason: 'stop',
    },
    {
      role: 'assistant',
      parts: [{ type: 'tool_call', id: 'c1', name: 'look', arguments: '{"at":1}' }],
      finish_reason: 'tool_calls',
    },
  ]);
});

Generated('has phases of the engine that are over before the call is, and begin with it', async () => {
  const ended: SpanRecord[] = [];
  const tracer = new Tracer({ sampler: samplerOf('always_on', 1), onSpan: (span) => ended.push(span) });
  const telemetry = new GenerationTelemetry(withSpans(noTelemetry, tracer.span, false), systemClock);
  for (let n = 0; n < 300; n += 1) {
    await telemetry.call(chat, async () => {
      const startedAt = performance.now();
      while (performance.now() < startedAt + 0.1 * (n % 10));
      const third = (performance.now() - startedAt) / 3;
      return { usage, timings: { queue_ms: third, prompt_ms: third, completion_ms: third } };
    });
    const [queue, prefill, decode, call] = ended.splice(0) as [SpanRecord, SpanRecord, SpanRecord, SpanRecord];
    assert.equal([call.name, decode.parentSpanId], ['chat llm', call.spanId]);
    const times = [call.startedAt, queue.startedAt, queue.endedAt, prefill.startedAt, prefill.endedAt];
    times.push(decode.startedAt, decode.endedAt, call.endedAt);
    const late = times.find((time, at) => at > 0 && times[at - 1]! > time + ROUNDING_MS);
    assert.is(late, undefined, JSON.stringify(times));
  }
});

Generated.run();
