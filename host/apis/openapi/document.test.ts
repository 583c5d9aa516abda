import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { type ServedEndpoint, pluginEndpoints } from '../../endpoints/registry/index.ts';
import { answerBy, AsrOutput, textAnswer, VideoInput } from '../../base/schemas/index.ts';
import { startServer } from '../http/fixtures/test-server.ts';
import { valueAt } from '../../base/core/json/json-pointer.ts';
import { allRoutes } from '../http/fixtures/all-routes.ts';
import { buildOpenApi, tagOf } from './index.ts';

const OpenApi = suite('the OpenAPI document');

const Node = z.strictObject({
  name: z.string(),
  get children() {
    return z.optional(z.array(Node));
  },
});

const endpoints: ServedEndpoint[] = pluginEndpoints({
  name: 'video',
  endpoints: [
    {
      name: 'transcribe_video',
      path: '/video/transcribe',
      summary: 'Transcribe a video',
      description: 'Long.',
      inputSchema: z.toJSONSchema(z.strictObject({ video: VideoInput, tree: z.optional(Node) }), { io: 'input' }),
      outputSchema: z.toJSONSchema(AsrOutput),
      streaming: false,
    },
    {
      name: 'tell',
      path: '/tell',
      summary: 'Tell',
      description: '',
      inputSchema: { type: 'object', properties: { n: { type: 'integer', minimum: 3 } }, required: ['n'] },
      outputSchema: { type: 'object' },
      streaming: true,
    },
  ],
  run: async () => '{}',
});
const routes = allRoutes.filter((route) => tagOf(route) === 'system');
const options = { title: 't', version: '1', baseUrl: 'http://h:1', routes, hasKeys: false };
// The document is read as any client reads it.
const document = JSON.parse(JSON.stringify(buildOpenApi(endpoints, options)));

function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner] : references(inner),
  );
}

OpenApi('is 3.1 with one POST per endpoint, its name as operationId', () => {
  assert.is(document.openapi, '3.1.0');
  assert.equal(Object.keys(document.paths), [
    '/video/transcribe',
    '/tell',
    '/',
    '/version',
    '/api/ready',
    '/readyz',
    '/health',
    '/ping',
    '/livez',
    '/api/status',
  ]);
  assert.is(document.paths['/video/transcribe'].post.operationId, 'transcribe_video');
  assert.equal(document.paths['/video/transcribe'].post.tags, ['video']);
});

OpenApi('has only references that lead somewhere, also in schemas that contain themselves', () => {
  const all = references(document);
  assert.ok(all.length > 8);
  assert.equal(
    all.filter((reference) => valueAt(document, reference) === undefined),
    [],
  );
});

OpenApi('shows the form with its JSON field, and a binary part for inputs that name files', () => {
  const { schema, encoding } = document.paths['/video/transcribe'].post.requestBody.content['multipart/form-data'];
  assert.equal(schema.required, ['body']);
  assert.is(schema.properties.video.format, 'binary');
  assert.is(encoding.body.contentType, 'application/json');
  assert.is(
    document.paths['/tell'].post.requestBody.content['multipart/form-data'].schema.additionalProperties,
    undefined,
  );
});

OpenApi('shows the answer, a stream in each of its formats, and the real shapes of errors', () => {
  const { responses } = document.paths['/video/transcribe'].post;
  assert.equal(Object.keys(responses['200'].content), ['application/json']);
  assert.equal(Object.keys(document.paths['/tell'].post.responses['200'].content), [
    'application/json-seq',
    'application/x-ndjson',
    'text/event-stream',
  ]);
  assert.equal(document.components.schemas.ValidationError.required, ['error', 'message', 'data', 'stacktrace']);
  for (const status of ['400', '403', '404', '408', '413', '415', '422', '429', '500', '502', '503', '504'])
    assert.ok(responses[status], status);
});

OpenApi('names the models of an endpoint after it, and definitions by their own names', () => {
  const names = Object.keys(document.components.schemas);
  for (const name of ['TranscribeVideoRequest', 'TranscribeVideoResponse', 'TellRequest', 'TellResponse'])
    assert.ok(names.includes(name), name);
  assert.is(
    document.paths['/tell'].post.requestBody.content['application/json'].schema.$ref,
    '#/components/schemas/TellRequest',
  );
});

OpenApi('has code samples whose input fits the endpoint', () => {
  const [curl, typescript, python] = document.paths['/video/transcribe'].post['x-codeSamples'];
  assert.is(
    curl.source,
    `curl -s http://h:1/video/transcribe \\\n  -F 'body={"video":{"content":"video"}}' \\\n  -F video=@video.mp4`,
  );
  assert.match(typescript.source, "form.set('video', await openAsBlob('video.mp4'), 'video.mp4');");
  assert.match(python.source, 'files={"video": open("video.mp4", "rb")}');
  assert.match(document.paths['/tell'].post['x-codeSamples'][0].source, `'body={"n":3}'`);
});

OpenApi('has code samples with an API key where one is needed', () => {
  const { paths } = buildOpenApi(endpoints, { ...options, hasKeys: true });
  const [curl, typescript, python] = paths!['/tell']!.post!['x-codeSamples'] as { source: string }[];
  assert.match(curl!.source, '-H "x-api-key: $AANA_API_KEY"');
  assert.match(typescript!.source, "headers: { 'x-api-key': env.AANA_API_KEY ?? '' }");
  assert.match(python!.source, 'headers={"x-api-key": os.environ["AANA_API_KEY"]}');
});

OpenApi('shows no example of an input for which none can be made', () => {
  const schema = { type: 'object', properties: { code: { type: 'string', pattern: '^Q{7}$' } }, required: ['code'] };
  const [endpoint] = pluginEndpoints({
    name: 'p',
    endpoints: [
      {
        name: 'odd',
        path: '/odd',
        summary: 'Odd',
        description: '',
        inputSchema: schema,
        outputSchema: {},
        streaming: false,
      },
    ],
    run: async () => '{}',
  });
  const { post } = buildOpenApi([endpoint!], options).paths!['/odd']!;
  assert.is(post?.['x-codeSamples'], undefined);
  assert.is(
    (post!.requestBody as { content: Record<string, { example?: unknown }> }).content['application/json']?.example,
    undefined,
  );
});

OpenApi(
  'is served with the address of the request, and the documentation page needs nothing from elsewhere',
  async () => {
    await using at = await startServer();
    const served = (await (await fetch(`${at.url}/openapi.json`)).json()) as {
      info: unknown;
      paths: Record<string, { post: { 'x-codeSamples': { source: string }[] } }>;
    };
    assert.equal(served.info, { title: 'test <app>', version: '1.2.3' });
    assert.match(served.paths['/echo']?.post['x-codeSamples'][0]?.source ?? '', at.url);

    const page = await fetch(`${at.url}/docs`);
    const html = await page.text();
    assert.match(page.headers.get('content-type') ?? '', 'text/html');
    assert.match(page.headers.get('content-security-policy') ?? '', "default-src 'none'");
    assert.not.match(html, /https?:\/\//);
    assert.match(html, 'test &#60;app&#62;');
    const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(
      ([, path]) => new URL(path ?? '', `${at.url}/docs`).href,
    );
    assert.is(assets.length, 4);
    for (const asset of assets) {
      const response = await fetch(asset);
      assert.is(response.status, 200, asset);
      assert.ok((await response.arrayBuffer()).byteLength > 100);
    }
  },
);

OpenApi('has a component for each case of an answer, and the media types of text', () => {
  const told = pluginEndpoints({
    name: 'p',
    endpoints: [
      {
        name: 'tell',
        path: '/tell',
        summary: '',
        description: '',
        inputSchema: { type: 'object' },
        outputSchema: z.toJSONSchema(answerBy('format', { json: AsrOutput, x_vtt: textAnswer('text/vtt') })),
        streaming: false,
      },
      {
        name: 'list',
        path: '/list',
        summary: '',
        description: '',
        inputSchema: { type: 'object' },
        outputSchema: z.toJSONSchema(textAnswer('text/csv')),
        streaming: false,
      },
    ],
    run: async () => '{}',
  });
  const { paths, components } = JSON.parse(
    JSON.stringify(buildOpenApi(told, { ...options, routes: allRoutes.filter((route) => tagOf(route) === 'tasks') })),
  );
  const [plain, vtt] = ['TellResponse', 'TellXVttResponse'].map((name) => ({ $ref: `#/components/schemas/${name}` }));
  const tell = paths['/tell'].post;
  assert.equal(tell.responses['200'].content, {
    'application/json': { schema: { anyOf: [plain, { $ref: '#/components/schemas/TaskId' }] } },
    'text/vtt': { schema: { type: 'string' } },
  });
  assert.equal(tell['x-aana-endpoint'].output, {
    anyOf: [plain, vtt],
    'x-aana-answer-by': { key: 'format', values: ['json', 'x_vtt'] },
  });
  assert.equal(Object.keys(components.schemas.TellResponse.properties), [
    'segments',
    'transcription_info',
    'transcription',
  ]);
  assert.is(components.schemas.TellXVttResponse['x-aana-text'], true);
  assert.equal(Object.keys(paths['/list'].post.responses['200'].content), ['application/json', 'text/csv']);
  const without = JSON.parse(JSON.stringify(buildOpenApi(told, options)));
  assert.equal(Object.keys(without.paths['/list'].post.responses['200'].content), ['text/csv']);
});

OpenApi.run();
