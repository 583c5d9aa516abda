import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../base/core/errors.ts';
import { fileKeys, findFileReferences } from './file-references.ts';
import { invoke } from './invoke.ts';
import { checkParameters, inputOfQuery } from './parameters.ts';
import { type EndpointSource, pluginEndpoints } from './plugin-endpoint.ts';

/** A plugin whose endpoint gives its input back. */
function pluginWith(inputSchema: object, outputSchema: object = {}, streaming = false): EndpointSource {
  return {
    name: 'stranger',
    endpoints: [{ name: 'echo', path: '/echo', summary: '', description: '', inputSchema, outputSchema, streaming }],
    run: async ({ input, write }) => {
      await write?.(input);
      return input;
    },
  };
}

async function answer(plugin: EndpointSource, input: unknown): Promise<unknown> {
  const [endpoint] = pluginEndpoints(plugin);
  return invoke(endpoint!, input, {
    requestId: 'r',
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    write: async () => {},
  });
}

const failure = async (answering: Promise<unknown>): Promise<AanaError> => {
  const error = await answering.catch((reason: unknown) => reason);
  if (!(error instanceof AanaError)) assert.unreachable(`it did not fail as it must: ${String(error)}`);
  return error as AanaError;
};

const exponential = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
const attack = { a: `${'a'.repeat(50)}!` };

/** Each definition has the next one twice; 2³⁰ ways lead to the last. */
const doubling = Object.fromEntries(
  Array.from({ length: 31 }, (_, n) => [
    `d${n}`,
    n === 30 ? { type: 'number' } : { anyOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
  ]),
);

const Hostile = suite('schemas of an untrusted plugin');

Hostile('an exponential pattern is matched at once, with the same error', async () => {
  const error = await failure(answer(pluginWith(exponential), attack));
  assert.equal([error.name, error.kind, error.message], ['ValidationError', 'invalid-input', 'Validation error']);
  assert.equal(error.data, [
    { type: 'string_pattern_mismatch', loc: ['a'], msg: "String should match pattern '^(a+)+$'", input: attack.a },
  ]);
  assert.is(await answer(pluginWith(exponential), { a: 'aa' }), '{"a":"aa"}');
});

for (const streaming of [false, true]) {
  Hostile(
    `an exponential pattern of an output is matched at once, ${streaming ? 'in a stream' : 'as a whole'}`,
    async () => {
      const error = await failure(answer(pluginWith({ type: 'object' }, exponential, streaming), attack));
      assert.equal(
        [error.name, error.logFields],
        ['OutputError', { output: [{ loc: ['a'], type: 'string_pattern_mismatch' }] }],
      );
    },
  );
}

Hostile('branches that double with each reference end, for inputs and outputs', async () => {
  const schema = { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs: doubling };
  const input = await failure(answer(pluginWith(schema), { a: 'x' }));
  assert.is((input.data as { type: string }[])[0]?.type, 'too_complex');
  const output = await failure(answer(pluginWith({}, schema), { a: 'x' }));
  assert.equal([output.name, output.logFields], ['OutputError', { output: [{ loc: [], type: 'too_complex' }] }]);
});

Hostile('the search for files takes bounded time', () => {
  const marked = { ...doubling, d30: { type: 'string', 'x-aana-file': true } };
  const schema = { type: 'object', properties: { a: { $ref: '#/$defs/d0' }, b: { type: 'string' } }, $defs: marked };
  assert.equal(fileKeys(schema), ['a']);
  assert.equal(fileKeys({ ...schema, $defs: doubling }), []);
  assert.equal(findFileReferences(schema, { a: 'x' }), [{ name: 'x', loc: ['a'] }]);
  assert.equal(findFileReferences({ ...schema, $defs: doubling }, { a: 'x' }), []);
  const wide = {
    type: 'array',
    items: { anyOf: Array.from({ length: 10_000 }, (_, n) => ({ minLength: n, 'x-aana-file': true })) },
  };
  assert.throws(
    () =>
      findFileReferences(
        wide,
        Array.from({ length: 1000 }, () => 'x'),
      ),
    (error: unknown) => error instanceof AanaError && error.name === 'ValidationError',
  );
});

Hostile('the search for parameters looks at each schema once', () => {
  const levels = Array.from({ length: 8 }, (_, n) => [
    `l${n}`,
    { anyOf: Array.from({ length: 300 }, () => (n === 7 ? { type: 'integer' } : { $ref: `#/$defs/l${n + 1}` })) },
  ]);
  const list = { type: 'array', items: { $ref: '#/$defs/l0' } };
  const inputSchema = {
    ...{ type: 'object', properties: { a: { $ref: '#/$defs/l0' }, b: list }, 'x-aana-method': 'get' },
    $defs: Object.fromEntries(levels),
  };
  const endpoint = { name: 'wide', path: '/wide/{a}', inputSchema };
  checkParameters(endpoint);
  const query = new URLSearchParams([
    ['b', '1'],
    ['b', '2'],
    ...Array.from({ length: 20_000 }, (_, n): [string, string] => [`k${n}`, '']),
  ]);
  const input = inputOfQuery(endpoint, '/wide/3', query) as Record<string, unknown>;
  assert.equal([input['a'], input['b'], input['k7']], [3, [1, 2], '']);
});

for (const io of ['input', 'output'] as const) {
  Hostile(`a pattern that cannot be matched in linear time is refused with the plugin, in an ${io} schema`, () => {
    const schema = { type: 'object', properties: { code: { type: 'string', pattern: '^(?=.*[0-9]).{8}$' } } };
    const plugin = io === 'input' ? pluginWith(schema) : pluginWith({}, schema);
    assert.throws(
      () => pluginEndpoints(plugin),
      (error: unknown) => {
        assert.ok(error instanceof AanaError);
        assert.is(
          error.message,
          `endpoint echo: its ${io} schema cannot be used: the pattern "^(?=.*[0-9]).{8}$" at ` +
            `#/properties/code/pattern cannot be used: it has a lookahead ((?=…)), which cannot be matched in ` +
            `linear time`,
        );
        return true;
      },
    );
  });
}

Hostile.run();
