import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AanaError } from '../core/errors.ts';
import { ImageInput, VideoInput } from '../schemas/index.ts';
import { checkInput, type EndpointDescription, hostEndpoint, pluginEndpoints, type ServedEndpoint } from './index.ts';

const Rules = suite('exactly one of several keys');

const Input = z.strictObject({ video: VideoInput, more: z.array(ImageInput).optional(), maybe: z.nullish(VideoInput).describe('Another one.') });

/** An endpoint of a component, of which the host knows the JSON Schema alone. */
function component(schema: object): ServedEndpoint {
  const description: EndpointDescription = { name: 'x', path: '/x', summary: '', description: '', inputSchema: schema, outputSchema: {}, streaming: false };
  const [endpoint] = pluginEndpoints({ name: 'p', endpoints: [description], run: () => Promise.reject(new Error('it was run')) });
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
  ['the application', hostEndpoint({ name: 'x', path: '/x', summary: '', input: Input, output: z.unknown(), run: async () => 1 })],
] as const) {
  Rules(`is refused before files are looked for, in an endpoint of ${kind}`, () => {
    const all = { url, path: '/a', content: 'clip' };
    for (const video of [all, {}, { url: null, path: null }, { path: '/a', url }]) {
      assert.equal(refusal(endpoint, { video }), { name: 'ValidationError', data: [{ type: 'value_error', loc: ['video'], msg: MESSAGE, input: video }] }, JSON.stringify(video));
    }
    assert.equal(refusal(endpoint, { video: { url }, more: [{ url }, all], maybe: { path: '/a', url } })?.data, [
      { type: 'value_error', loc: ['more', 1], msg: MESSAGE, input: all },
      { type: 'value_error', loc: ['maybe'], msg: MESSAGE, input: { path: '/a', url } },
    ]);
    assert.is(refusal(endpoint, { video: { content: 'clip' } })?.name, 'UploadedFileNotFound');
    for (const input of [{ video: { url } }, { video: { path: '/a', url: null } }, { video: { url }, maybe: null }, { video: { url }, more: [] }]) assert.is(refusal(endpoint, input), undefined, JSON.stringify(input));
  });
}

Rules('is not asked for where a value may have another form', () => {
  const schema = z.toJSONSchema(z.strictObject({ source: z.union([VideoInput, z.strictObject({ path: z.string(), url: z.string() })]) }), { io: 'input' });
  assert.is(refusal(component(schema), { source: { path: '/a', url } }), undefined);
});

Rules.run();
