import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../core/errors.ts';
import { Recorder } from '../../application/fixtures/recorder.ts';
import { GenerationTelemetry } from './generation-telemetry.ts';

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

const chat = { operation: 'chat', deployment: 'llm', traceparent: undefined } as const;

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

Generated.run();
