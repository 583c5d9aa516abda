import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { generateClient } from './index.ts';

const Generate = suite('generated clients');

const endpoint = (operationId: string, input: unknown = {}, more: object = {}): object => ({
  post: {
    operationId,
    summary: operationId,
    requestBody: { content: { 'application/json': { schema: input } } },
    'x-aana-endpoint': { streaming: false, defer: 'never', output: {} },
    responses: {},
    ...more,
  },
});
const documentOf = (paths: object, schemas: object = {}): object => ({
  openapi: '3.1.0',
  info: { title: 't\n*/ process.exit()', version: '1' },
  paths,
  components: { schemas },
});
const generate = (paths: object, schemas?: object): Promise<string> =>
  generateClient(documentOf(paths, schemas), { baseUrl: "http://h'\\" });

Generate('methods have names of their own, also where those of the endpoints are nearly the same', async () => {
  const text = await generate({
    '/a': endpoint('tell_me'),
    '/b': endpoint('tell-me'),
    '/c': endpoint('tellMe'),
    '/d': endpoint('task'),
    '/e': endpoint('constructor'),
    '/f': endpoint('2nd'),
  });
  for (const [name, path] of [
    ['tellMe', '/a'],
    ['tellMe2', '/b'],
    ['tellMe3', '/c'],
    ['task2', '/d'],
    ['constructor2', '/e'],
    ['_2nd', '/f'],
  ])
    assert.match(text, new RegExp(`^  ${name}\\(input.*\\n    return this\\.#api\\.call\\('${path}'`, 'm'));
});

Generate('schemas do not take the names that the client needs, and those that nobody uses are left out', async () => {
  const text = await generate(
    { '/a': endpoint('a', { $ref: '#/components/schemas/Error' }) },
    {
      Error: { type: 'object', properties: { next: { $ref: '#/components/schemas/a.b' } } },
      'a.b': { type: 'string' },
      Unused: { type: 'null' },
    },
  );
  assert.match(text, /a\(input: ErrorModel = \{\}/);
  assert.match(text, 'export interface ErrorModel {\n  next?: a_b;\n}');
  assert.match(text, 'export type a_b = string;');
  assert.not.match(text, 'Unused');
});

Generate('what a document says stays in comments and texts', async () => {
  const text = await generate({
    "/it's\\": endpoint('a', {}, { summary: '*/ }; process.exit(); /*', description: 'one\n\ntwo' }),
  });
  assert.match(text, '   * *\\/ }; process.exit(); /*\n   *\n   * one\n   *\n   * two\n');
  assert.match(text, "this.#api.call('/it\\'s\\\\', input, options)");
  assert.match(text, "?? 'http://h\\'\\\\' });");
  assert.match(text, '/** The endpoints of t *\\/ process.exit(). */');
  assert.match(text.split('\n')[0] ?? '', /^\/\/ A client of t \*\/ process\.exit\(\) 1, /);
});

Generate('other routes take their parameters and bodies, and those that answer no JSON are left out', async () => {
  const json = (schema: object): object => ({ content: { 'application/json': { schema } } });
  const text = await generate({
    '/a': endpoint('a'),
    '/things/{thing_id}': {
      parameters: [{ name: 'thing_id', in: 'path', required: true, schema: { type: 'string' } }],
      put: {
        operationId: 'put_thing',
        parameters: [{ name: 'dry-run', in: 'query', schema: { type: 'boolean' } }],
        requestBody: json({ type: 'number' }),
        responses: { 200: json({ type: 'string' }) },
      },
      delete: { operationId: 'delete_thing', responses: { 204: { description: 'Gone.' } } },
      get: { operationId: 'watch', responses: { 200: { content: { 'text/event-stream': {} } } } },
      post: { operationId: 'old', deprecated: true, responses: {} },
    },
  });
  assert.match(
    text,
    "  putThing(parameters: {\n    thing_id: string;\n    'dry-run'?: boolean;\n  }, body: number, options?: " +
      'CallOptions): Promise<string> {',
  );
  assert.match(
    text,
    "request('PUT', '/things/' + encodeURIComponent(parameters['thing_id']) + queryOf({ 'dry-run': " +
      "parameters['dry-run'] }), options, body);",
  );
  assert.match(text, /deleteThing\([^]*?\): Promise<void> \{/);
  assert.not.match(text, /watch\(|old\(/);
});

Generate('a document that is not ours is refused by name', async () => {
  for (const [document, reason] of [
    [null, /not an OpenAPI 3\.1/],
    [{ openapi: '3.0.0' }, /not an OpenAPI 3\.1/],
    [documentOf({ '/x': { get: { operationId: 'x' } } }), /no endpoint of aana-host/],
  ] as const) {
    const error = await generateClient(document, { baseUrl: 'http://h' }).catch((thrown: unknown) => thrown);
    assert.is((error as Error).name, 'DocumentError');
    assert.match((error as Error).message, reason);
  }
});

Generate.run();
