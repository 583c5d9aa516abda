import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../../base/core/errors.ts';
import { borderLimits, boundedEndpoints, boundedResult, requireArguments } from './border.ts';
import type { GuestResult, WitEndpoint } from './protocol.ts';

const answerBytes = 1000;
const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const refusal = (work: () => unknown): string => {
  try {
    return `it gave ${String(work()).slice(0, 100)}`;
  } catch (error) {
    return error instanceof AanaError ? `${error.name}: ${error.message}` : String(error);
  }
};
const errorOf = (result: GuestResult): string =>
  'err' in result ? `${result.err.kind} ${result.err.name} ${result.err.data}` : 'returned';

const Border = suite('what a guest passes to the host');

Border('arguments within the limits are accepted', () => {
  for (const args of [
    ['model', 'chat', '{"a":[1]}', [1, 2]],
    ['d', [{ role: 'user', content: 'x' }], { samplingParams: { stop: [], seed: undefined } }],
    ['k', new Uint8Array(4)],
    [],
  ]) {
    assert.not.throws(() => requireArguments('deployments.call', args, answerBytes));
  }
});

Border('arguments over a limit are refused by its name', () => {
  const call = (...args: unknown[]) => refusal(() => requireArguments('deployments.call', args, answerBytes));
  const half = 'x'.repeat(borderLimits.callChars / 2 + 1);
  assert.match(call('m', 'e', half, [{ text: half }]), /^ArgumentsTooLarge: .* limit of 4194304 characters$/);
  assert.match(call('m', 'e', '{}', Array(100_001).fill(1)), /^ArgumentsTooLarge: .* limit of 100000 elements$/);
  assert.match(call('m', 'e', `{"a":${deep(300)}}`, []), /^ArgumentsTooLarge: .* deeper than the limit of 256 levels$/);
  assert.match(call('m', 'e', `[${'0,'.repeat(500_000)}0]`, []), /^ArgumentsTooLarge: .* limit of 500000 values$/);
  assert.match(
    refusal(() => requireArguments('storage.set', ['k', new Uint8Array(borderLimits.callBytes + 1)], answerBytes)),
    /^ArgumentsTooLarge: .* limit of 16777216 bytes$/,
  );
  const bytes = Buffer.alloc(borderLimits.callBytes);
  const decoding = (file: Buffer): void => requireArguments('media.decode-base64', [file.toString('base64')], 1);
  assert.not.throws(() => decoding(bytes));
  assert.match(
    refusal(() => decoding(Buffer.alloc(borderLimits.callBytes + 1))),
    /^ArgumentsTooLarge: .* limit of 16777216 bytes$/,
  );
  const swapping = ['k', ...[bytes, Buffer.alloc(1)].map((each) => each.toString('base64')), undefined];
  assert.match(
    refusal(() => requireArguments('storage.compare-and-set-base64', swapping, 1)),
    /limit of 16777216 bytes$/,
  );
  assert.match(
    refusal(() => requireArguments('storage.set-base64', ['k'.repeat(2 ** 22 + 1), '', undefined], 1)),
    /limit of 4194304 characters$/,
  );
  assert.match(
    refusal(() => requireArguments('remote.start', ['h', deep(257)], answerBytes)),
    /deeper than/,
  );
  assert.match(
    refusal(() => requireArguments('output.write', ['x'.repeat(1001)], answerBytes)),
    /^OutputTooLarge/,
  );
  assert.match(
    refusal(() => requireArguments('output.write', ['é'.repeat(501)], answerBytes)),
    /^OutputTooLarge/,
  );
  assert.match(
    refusal(() => requireArguments('llm.count-tokens', ['m', deep(10_000)], answerBytes)),
    /^it gave/,
    'a text that is no JSON may have brackets',
  );
});

Border('results over a limit become errors that name it', () => {
  assert.is(errorOf(boundedResult({ ok: 'x'.repeat(1000) }, answerBytes)), 'returned');
  assert.is(errorOf(boundedResult({ ok: 'x'.repeat(1001) }, answerBytes)), 'too-large OutputTooLarge {"limit":1000}');
  assert.is(errorOf(boundedResult({ ok: deep(400) }, answerBytes)), 'too-large OutputTooLarge {"limit":256}');
  assert.is(
    errorOf(boundedResult({ ok: `[${'0,'.repeat(2e6)}0]` }, 1e8)),
    'too-large OutputTooLarge {"limit":2000000}',
  );
  const error = { kind: 'conflict', name: 'n'.repeat(1000), message: 'm'.repeat(100_000), data: '{}' } as const;
  const { err: cut } = boundedResult({ err: error }, answerBytes) as Extract<GuestResult, { err: unknown }>;
  assert.equal([cut.name.length, cut.message.length, cut.data], [129, 16 * 1024 + 1, '{}']);
  assert.is(
    errorOf(boundedResult({ err: { ...error, data: deep(400) } }, answerBytes)),
    'too-large OutputTooLarge {"limit":256}',
  );
  assert.is(
    errorOf(boundedResult({ err: { ...error, data: `"${'x'.repeat(2 ** 20)}"` } }, answerBytes)),
    'too-large OutputTooLarge {"limit":1048576}',
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
