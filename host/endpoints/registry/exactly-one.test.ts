import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AanaError } from '../../base/core/errors.ts';
import { ImageInput, VideoInput } from '../../base/schemas/index.ts';
import { checkExactlyOne } from './exactly-one.ts';
import type { EndpointDescription } from '../../base/core/endpoint-description.ts';
import { checkInput, hostEndpoint, pluginEndpoints, type ServedEndpoint } from './index.ts';

const Rules = suite('exactly one of several keys');

const Input = z.strictObject({
  video: VideoInput,
  more: z.array(ImageInput).optional(),
  maybe: z.nullish(VideoInput).describe('Another one.'),
});

/** An endpoint of a component, of which the host knows the JSON Schema alone. */
function component(schema: object): ServedEndpoint {
  const description: EndpointDescription = {
    name: 'x',
    path: '/x',
    summary: '',
    description: '',
    inputSchema: schema,
    outputSchema: {},
    streaming: false,
  };
  const [endpoint] = pluginEndpoints({
    name: 'p',
    endpoints: [description],
    run: () => Promise.reject(new Error('it was run')),
  });
  return endpoint!;
}

function refusal(endpoint: ServedEndpoint, input: unknown): { name: string; data: unknown } | undefined {
  try {
    checkInput(endpoint, input);
    return undefined;
  } catch (error) {
    const { name, data } = error as AanaError;
    return { name, data };
  }
}

const MESSAGE = "Value error, Exactly one of 'path', 'url', or 'content' must be provided.";
const url = 'https://example.org/a.mp4';

for (const [kind, endpoint] of [
  ['a component', component(z.toJSONSchema(Input, { io: 'input' }))],
  [
    'the application',
    hostEndpoint({ name: 'x', path: '/x', summary: '', input: Input, output: z.unknown(), run: async () => 1 }),
  ],
] as const) {
  Rules(`is refused before files are looked for, in an endpoint of ${kind}`, () => {
    const all = { url, path: '/a', content: 'clip' };
    for (const video of [all, {}, { url: null, path: null }, { path: '/a', url }]) {
      assert.equal(
        refusal(endpoint, { video }),
        { name: 'ValidationError', data: [{ type: 'value_error', loc: ['video'], msg: MESSAGE, input: video }] },
        JSON.stringify(video),
      );
    }
    assert.equal(refusal(endpoint, { video: { url }, more: [{ url }, all], maybe: { path: '/a', url } })?.data, [
      { type: 'value_error', loc: ['more', 1], msg: MESSAGE, input: all },
      { type: 'value_error', loc: ['maybe'], msg: MESSAGE, input: { path: '/a', url } },
    ]);
    assert.is(refusal(endpoint, { video: { content: 'clip' } })?.name, 'UploadedFileNotFound');
    for (const input of [
      { video: { url } },
      { video: { path: '/a', url: null } },
      { video: { url }, maybe: null },
      { video: { url }, more: [] },
    ])
      assert.is(refusal(endpoint, input), undefined, JSON.stringify(input));
  });
}

Rules('is refused where a parameter may have another form that the value does not have', () => {
  const source = z.union([
    z.string(),
    VideoInput,
    z.strictObject({ kind: z.literal('live'), url: z.string() }),
    z.strictObject({ id: z.int() }),
    z.null(),
  ]);
  const sources = z.array(
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('video'), of: VideoInput }),
      z.strictObject({ type: z.literal('text'), of: z.any() }),
    ]),
  );
  const endpoint = component(z.toJSONSchema(z.strictObject({ source, sources: sources.optional() }), { io: 'input' }));
  const all = { url, path: '/a', content: 'clip' };
  for (const wrong of [all, {}, { path: '/a', url }, { media_id: 'm' }]) {
    assert.equal(
      refusal(endpoint, { source: wrong }),
      { name: 'ValidationError', data: [{ type: 'value_error', loc: ['source'], msg: MESSAGE, input: wrong }] },
      JSON.stringify(wrong),
    );
  }
  for (const right of ['text', { url }, { kind: 'live', url }, { id: 5 }, null])
    assert.is(refusal(endpoint, { source: right }), undefined, JSON.stringify(right));
  assert.is(refusal(endpoint, { source: { content: 'clip' } })?.name, 'UploadedFileNotFound');
  const given = [
    { type: 'text', of: url },
    { type: 'text', of: { path: '/a', url } },
    { type: 'video', of: all },
    { type: 'video', of: { url } },
  ];
  assert.equal(refusal(endpoint, { source: 'text', sources: given })?.data, [
    { type: 'value_error', loc: ['sources', 2, 'of'], msg: MESSAGE, input: all },
  ]);
});

Rules('is refused where each form that the value can have asks for it', () => {
  const keys = ['path', 'url', 'content'];
  const $defs = {
    a: { type: 'object', 'x-aana-exactly-one': keys },
    b: { type: 'object', 'x-aana-exactly-one': keys },
    c: { type: 'object' },
  };
  const either = (...names: string[]): object => ({
    type: 'object',
    properties: { source: { anyOf: [...names.map((name) => ({ $ref: `#/$defs/${name}` })), { type: 'string' }] } },
    $defs,
  });
  for (const schema of [
    z.toJSONSchema(z.strictObject({ source: z.union([VideoInput, ImageInput]) }), { io: 'input' }),
    either('a', 'b'),
  ]) {
    assert.equal(
      (refusal(component(schema), { source: { path: '/a', url } })?.data as { loc: unknown }[] | undefined)?.map(
        ({ loc }) => loc,
      ),
      [['source']],
    );
    assert.is(refusal(component(schema), { source: { url } }), undefined);
  }
  assert.is(
    refusal(component(either('a', 'c')), { source: { path: '/a', url } }),
    undefined,
    'one form has no such rule',
  );
});

Rules('is looked for in bounded time where a union has many branches or leads in a circle', () => {
  const branches = Array.from({ length: 2000 }, (_, index) => ({
    type: 'object',
    properties: { kind: { const: `k${index}` } },
    required: ['kind'],
    'x-aana-exactly-one': ['a', 'b'],
  }));
  const schema = { type: 'object', properties: { list: { type: 'array', items: { anyOf: branches } } } };
  const list = (length: number): object => ({
    list: Array.from({ length }, (_, index) => ({ kind: `k${index}`, a: 1 })),
  });
  checkExactlyOne(schema, list(50));
  assert.throws(
    () => checkExactlyOne(schema, list(5000)),
    (error: AanaError) => (error.data as { type: string }[])[0]?.type === 'too_complex',
  );
  const circle = {
    type: 'object',
    properties: { a: { anyOf: [{ $ref: '#/$defs/x' }, { type: 'string' }] } },
    $defs: { x: { $ref: '#/$defs/y' }, y: { $ref: '#/$defs/x', 'x-aana-exactly-one': ['a', 'b'] } },
  };
  assert.throws(
    () => checkExactlyOne(circle, { a: {} }),
    (error: AanaError) => error.name === 'ValidationError',
  );
});

Rules('is not asked for where a value may have another form', () => {
  const schema = z.toJSONSchema(
    z.strictObject({ source: z.union([VideoInput, z.strictObject({ path: z.string(), url: z.string() })]) }),
    { io: 'input' },
  );
  assert.is(refusal(component(schema), { source: { path: '/a', url } }), undefined);
});

Rules.run();
