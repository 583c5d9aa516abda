import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../../base/core/errors.ts';
import { borderLimits, boundedArguments, boundedEndpoints, boundedOutcome } from './border.ts';
import type { Outcome, WitEndpoint } from './protocol.ts';

const answerBytes = 1000;
const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const refusal = (work: () => unknown): string => {
  try {
    return `it gave ${String(work()).slice(0, 100)}`;
  } catch (error) {
    return error instanceof AanaError ? `${error.name}: ${error.message}` : String(error);
  }
};
const errorOf = (outcome: Outcome): string =>
  outcome.state === 'failed' ? `${outcome.error.kind} ${outcome.error.name} ${outcome.error.data}` : outcome.state;

const Border = suite('what crosses from a worker to the host');

Border('arguments within the limits are the same', () => {
  for (const args of [
    ['model', 'chat', '{"a":[1]}', [1, 2]],
    ['d', [{ role: 'user', content: 'x' }], { samplingParams: { stop: [], seed: undefined } }],
    ['k', new Uint8Array(4)],
    [],
  ]) {
    assert.equal(boundedArguments('deployments.call', args, answerBytes), args);
  }
});

Border('arguments over a limit are refused by its name', () => {
  const call = (...args: unknown[]) => refusal(() => boundedArguments('deployments.call', args, answerBytes));
  const half = 'x'.repeat(borderLimits.callChars / 2 + 1);
  assert.match(call('m', 'e', half, [{ text: half }]), /^ArgumentsTooLarge: .* limit of 4194304 characters$/);
  assert.match(call('m', 'e', '{}', Array(100_001).fill(1)), /^ArgumentsTooLarge: .* limit of 100000 elements$/);
  assert.match(call('m', 'e', `{"a":${deep(300)}}`, []), /^ArgumentsTooLarge: .* deeper than the limit of 256 levels$/);
  assert.match(call('m', 'e', `[${'0,'.repeat(500_000)}0]`, []), /^ArgumentsTooLarge: .* limit of 500000 values$/);
  assert.match(
    refusal(() => boundedArguments('storage.set', ['k', new Uint8Array(borderLimits.callBytes + 1)], answerBytes)),
    /^ArgumentsTooLarge: .* limit of 16777216 bytes$/,
  );
  assert.match(
    refusal(() => boundedArguments('remote.start', ['h', deep(257)], answerBytes)),
    /deeper than/,
  );
  assert.match(
    refusal(() => boundedArguments('output.write', ['x'.repeat(1001)], answerBytes)),
    /^OutputTooLarge/,
  );
  assert.match(
    refusal(() => boundedArguments('output.write', ['é'.repeat(501)], answerBytes)),
    /^OutputTooLarge/,
  );
  assert.match(
    refusal(() => boundedArguments('llm.count-tokens', ['m', deep(10_000)], answerBytes)),
    /^it gave/,
    'a text that is no JSON may have brackets',
  );
});

Border('a part of a memory crosses alone, as a copy that the guest cannot change', () => {
  const shared = new Uint8Array(new SharedArrayBuffer(8)).fill(7);
  const part = new Uint8Array(1_000_000).subarray(10, 14);
  for (const given of [shared, part]) {
    const [, { body }] = boundedArguments('http.fetch', ['u', { body: given, n: 1 }], answerBytes) as [
      string,
      { body: Uint8Array },
    ];
    assert.ok(body.buffer instanceof ArrayBuffer && body.buffer.byteLength === given.length);
    assert.equal([...body], [...given]);
  }
});

Border('outcomes over a limit become errors that name it', () => {
  assert.is(errorOf(boundedOutcome({ state: 'returned', json: 'x'.repeat(1000) }, answerBytes)), 'returned');
  assert.is(
    errorOf(boundedOutcome({ state: 'returned', json: 'x'.repeat(1001) }, answerBytes)),
    'too-large OutputTooLarge {"limit":1000}',
  );
  assert.is(
    errorOf(boundedOutcome({ state: 'returned', json: deep(400) }, answerBytes)),
    'too-large OutputTooLarge {"limit":256}',
  );
  assert.is(
    errorOf(boundedOutcome({ state: 'returned', json: `[${'0,'.repeat(2e6)}0]` }, 1e8)),
    'too-large OutputTooLarge {"limit":2000000}',
  );
  const error = { kind: 'conflict', name: 'n'.repeat(1000), message: 'm'.repeat(100_000), data: '{}' } as const;
  const { error: cut } = boundedOutcome({ state: 'failed', error }, answerBytes) as Outcome & { state: 'failed' };
  assert.equal([cut.name.length, cut.message.length, cut.data], [129, 16 * 1024 + 1, '{}']);
  assert.is(
    errorOf(boundedOutcome({ state: 'failed', error: { ...error, data: deep(400) } }, answerBytes)),
    'too-large OutputTooLarge {"limit":256}',
  );
  assert.is(
    errorOf(boundedOutcome({ state: 'failed', error: { ...error, data: `"${'x'.repeat(2 ** 20)}"` } }, answerBytes)),
    'too-large OutputTooLarge {"limit":1048576}',
  );
  assert.is(
    (
      boundedOutcome({ state: 'trapped', reason: 'r'.repeat(1e6), said: 's'.repeat(1e6) }, answerBytes) as {
        said: string;
      }
    ).said.length,
    16 * 1024 + 1,
  );
});

Border('a description over a limit is refused', () => {
  const endpoint: WitEndpoint = {
    name: 'e',
    path: '/e',
    summary: '',
    description: '',
    inputSchema: '{}',
    outputSchema: '{}',
    streaming: false,
  };
  assert.equal(boundedEndpoints([endpoint]), [endpoint]);
  assert.match(
    refusal(() => boundedEndpoints(Array.from({ length: 1001 }, () => endpoint))),
    /1001 endpoints, 1000 are allowed/,
  );
  assert.match(
    refusal(() => boundedEndpoints([{ ...endpoint, description: 'x'.repeat(2 ** 23) }])),
    /characters, 8388608 are allowed/,
  );
  assert.match(
    refusal(() => boundedEndpoints([{ ...endpoint, inputSchema: deep(300) }])),
    /a schema of its endpoint e is nested deeper than 256 levels/,
  );
});

Border.run();
