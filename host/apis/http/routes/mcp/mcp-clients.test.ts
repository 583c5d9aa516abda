// Endpoints of a real plugin and of a program as tools, with the official client of the Model Context Protocol.
import { once } from 'node:events';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ProtocolError } from '@modelcontextprotocol/client';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { keepingPlugins, makeApp, makeFolder, started } from '../../../../application/fixtures/test-app.ts';
import { packageRoot } from '../../../../base/core/package-root.ts';
import { SentimentDeployment } from '../../../../inference/deployments/fixtures/sentiment-deployment.ts';
import type { AanaApp } from 'aana-host';
import { asText, textAnswer, VideoInput } from '../../../../base/schemas/index.ts';
import { errorOf } from '../../../../test/helpers/error-of.ts';
import { blocksOf } from '../../../../test/helpers/guide.ts';
import { linkDependencies } from '../../../../test/helpers/plugin-project.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { connectClient, ERAS, textOf, toolError } from './fixtures/mcp-clients.ts';

const PLUGIN = `
import { definePlugin, defineEndpoint, VideoInput, z } from 'aana-host/plugin';

const wordCount = defineEndpoint({
  name: 'word_count', path: '/words/count', summary: 'Count words', description: 'Words are separated by spaces.',
  input: z.strictObject({ text: z.string() }), output: z.strictObject({ words: z.int() }),
  run: ({ text }) => ({ words: text.split(' ').length }),
});
const Line = z.strictObject({ n: z.int(), get next() { return z.optional(Line); } });
const count = defineEndpoint({
  name: 'count', path: '/count', summary: 'Count', description: '', stream: true,
  input: z.strictObject({ until: z.int(), pause_ms: z.int() }), output: Line,
  run({ until, pause_ms }, ctx) {
    for (let n = 0; n < until; n++) {
      ctx.write({ n });
      for (const end = ctx.clock.monotonicMs() + pause_ms; ctx.clock.monotonicMs() < end; );
    }
  },
});
const title = defineEndpoint({
  name: 'title', path: '/title', summary: 'Title', description: '',
  input: z.strictObject({ video: VideoInput }), output: z.strictObject({ title: z.string() }),
  run: ({ video }) => ({ title: String(video.url) }),
});
export const endpoint = definePlugin([wordCount, count, title]);
`;

const TOOLS = ['broken', 'count', 'numbers', 'summarize_video', 'table', 'title', 'wait', 'word_count'];

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
/** Returns a call of a tool without arguments that asks for progress, as a client of the earlier protocol sends it. */
const callOf = (name: string): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 7,
    method: 'tools/call',
    params: { name, arguments: {}, _meta: { progressToken: 'p' } },
  });

const Mcp = suite('tools of the Model Context Protocol');
const folder = makeFolder();
const source = join(folder, 'counter/src/index.ts');
let app: AanaApp;
let url = '';
let aborted: unknown;

Mcp.before(async () => {
  mkdirSync(join(folder, 'counter/src'), { recursive: true });
  linkDependencies(folder);
  writeFileSync(join(folder, 'counter/plugin.json'), '{"name":"counter","version":"1.0.0"}');
  writeFileSync(source, PLUGIN);
  app = makeApp(
    folder,
    {},
    {
      ...keepingPlugins(folder),
      mcp: { enabled: true, max_result_bytes: 50_000 },
      plugin_limits: { threads: 1 },
    },
  );
  app.registerPlugins(join(folder, 'counter'));
  app.registerEndpoint({
    name: 'numbers',
    path: '/numbers',
    input: z.strictObject({}),
    output: z.array(z.int()),
    run: async () => [1, 2],
  });
  app.registerEndpoint({
    name: 'table',
    path: '/table',
    input: z.strictObject({}),
    output: z.union([z.strictObject({ rows: z.int() }), textAnswer('text/csv')]),
    run: async () => asText('text/csv', 'a,b\n'),
  });
  app.registerEndpoint({
    name: 'summarize_video',
    path: '/video/summarize',
    input: z.strictObject({ video: VideoInput }),
    output: z.strictObject({ summary: z.string() }),
    run: async ({ video }, { progress }) => {
      progress(0.5);
      return { summary: `about ${video.url}` };
    },
  });
  app.registerEndpoint({
    name: 'wait',
    path: '/wait',
    input: z.strictObject({}),
    output: z.any(),
    run: async (_input, { signal, progress }) => {
      aborted = undefined;
      progress(0.25);
      await once(signal, 'abort');
      aborted = signal.reason;
      throw signal.reason;
    },
  });
  app.registerEndpoint({
    name: 'broken',
    path: '/broken',
    input: z.strictObject({}),
    output: z.any(),
    run: async () => {
      throw new RangeError('a secret');
    },
  });
  app.registerEndpoint({
    name: 'later',
    path: '/later',
    defer_option: 'always',
    input: z.strictObject({}),
    output: z.any(),
    run: async () => 1,
  });
  await started(app);
  url = app.url ?? '';
});
Mcp.after(async () => {
  await app.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

Mcp('the tools are the endpoints with their schemas, except endpoints that always become tasks', async () => {
  for (const era of ERAS) {
    await using client = await connectClient(url, { era });
    const { tools } = await client.listTools();
    assert.equal(tools.map(({ name }) => name).sort(), TOOLS);
    const find = (name: string) => tools.find((one) => one.name === name)!;
    assert.equal(find('word_count'), {
      name: 'word_count',
      title: 'Count words',
      description: 'Count words\n\nWords are separated by spaces.',
      inputSchema: {
        type: 'object',
        properties: { text: { type: 'string' } },
        required: ['text'],
        additionalProperties: false,
      },
      outputSchema: {
        type: 'object',
        properties: { words: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER } },
        required: ['words'],
        additionalProperties: false,
      },
    });
    assert.match(find('count').description!, /the list of all streamed values/);
    assert.match(JSON.stringify(find('count').outputSchema), /"\$ref":"#\/properties\/values\/items/);
    assert.match(find('title').description!, /Media is given by its URL/);
  }
});

Mcp('results have the output as text and as a structure, which the client checks with the schema', async () => {
  for (const era of ERAS) {
    await using client = await connectClient(url, { era });
    await client.listTools(); // the client compiles the schemas of the results
    const counted = await client.callTool({ name: 'word_count', arguments: { text: 'one two' } });
    assert.equal([textOf(counted), counted.structuredContent], ['{"words":2}', { words: 2 }]);
    const numbers = await client.callTool({ name: 'numbers' });
    assert.equal([textOf(numbers), numbers.structuredContent], ['[1,2]', era === 'auto' ? [1, 2] : { result: [1, 2] }]);
    const table = await client.callTool({ name: 'table' });
    assert.is(textOf(table), 'a,b\n');
    const answer = { media_type: 'text/csv', text: 'a,b\n' };
    assert.equal(table.structuredContent, era === 'auto' ? answer : { result: answer });
  }
});

Mcp('errors of endpoints are results with the usual body, and unknown tools are errors of the protocol', async () => {
  for (const era of ERAS) {
    await using client = await connectClient(url, { era });
    await client.listTools();
    const wrong = toolError(await client.callTool({ name: 'word_count', arguments: { text: 5 } }));
    assert.is(wrong.error, 'ValidationError');
    assert.equal((wrong.data as { loc: unknown }[])[0]!.loc, ['text']);
    const file = toolError(await client.callTool({ name: 'title', arguments: { video: { content: 'clip' } } }));
    assert.equal([file.error, /no file was uploaded/.test(file.message)], ['UploadedFileNotFound', true]);
    const titled = await client.callTool({ name: 'title', arguments: { video: { url: 'https://example.org/a.mp4' } } });
    assert.equal(titled.structuredContent, { title: 'https://example.org/a.mp4' });
    const broken = toolError(await client.callTool({ name: 'broken' }));
    assert.is(broken.error, 'RangeError');
    assert.not.match(JSON.stringify(broken), /secret/);
    for (const name of ['nothing', 'later', '__proto__', '/count']) {
      const { code, message } = await errorOf(client.callTool({ name }), ProtocolError);
      assert.equal([code, message], [-32_602, `Unknown tool: ${name}`]);
    }
  }
});

Mcp('a stream is told as progress and returned as a list, up to the limit', async () => {
  for (const era of ERAS) {
    await using client = await connectClient(url, { era });
    await client.listTools();
    const told: unknown[] = [];
    const input = { name: 'count', arguments: { until: 3, pause_ms: 0 } };
    const counted = await client.callTool(input, { onprogress: (progress) => told.push(progress) });
    assert.equal(counted.structuredContent, { values: [{ n: 0 }, { n: 1 }, { n: 2 }] });
    assert.equal(
      told,
      [1, 2, 3].map((progress) => ({ progress, message: `{"n":${progress - 1}}` })),
    );
    assert.equal((await client.callTool(input)).structuredContent, counted.structuredContent);
    const long = toolError(await client.callTool({ name: 'count', arguments: { until: 1_000_000, pause_ms: 0 } }));
    assert.equal([long.error, long.data], ['ResultTooLarge', { limit: 50_000 }]);
    await eventually(() => app.plugins()[0]!.counters.running === 0, 'the run over the limit has ended');
  }
});

Mcp('a call that the client cancels ends, with the run of its plugin', async () => {
  for (const era of ERAS) {
    await using client = await connectClient(url, { era });
    await using other = await connectClient(url, { era });
    for (const name of ['wait', 'count']) {
      const cancelling = new AbortController();
      const kept = other.callTool({ name: 'word_count', arguments: { text: 'a b c' } });
      const call = client.callTool(
        { name, arguments: name === 'count' ? { until: 1000, pause_ms: 20 } : {} },
        { signal: cancelling.signal, onprogress: () => cancelling.abort('no longer needed') },
      );
      await errorOf(call, Error);
      assert.equal((await kept).structuredContent, { words: 3 });
      if (name === 'wait') await eventually(() => aborted !== undefined, 'the run has ended');
      else await eventually(() => app.plugins()[0]!.counters.running === 0, 'the run of the plugin has ended');
    }
    assert.is((aborted as Error).name, 'CancelledError');
    assert.equal((await client.callTool({ name: 'numbers' })).isError ?? false, false);
  }
});

Mcp('a call ends with its connection, and reports the progress of its run', async () => {
  const leaving = new AbortController();
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: HEADERS,
    body: callOf('wait'),
    signal: leaving.signal,
  });
  assert.is(response.headers.get('content-type'), 'text/event-stream');
  const { value } = await response.body!.getReader().read();
  assert.match(new TextDecoder().decode(value), '"progress":0.25,"total":1');
  leaving.abort();
  await eventually(() => aborted !== undefined, 'the run has ended');
  assert.is((aborted as Error).message, 'the client closed the connection');
});

Mcp('the program of the guide runs as it is', async () => {
  const blocks = blocksOf(readFileSync(join(packageRoot, 'docs/mcp.md'), 'utf8'));
  const { text } = blocks.find(({ about }) => about === 'tools.mjs')!;
  mkdirSync(join(folder, 'guide'));
  symlinkSync(join(packageRoot, 'node_modules'), join(folder, 'guide/node_modules'));
  writeFileSync(join(folder, 'guide/tools.mjs'), text.replaceAll('http://127.0.0.1:8000', url));
  const { stdout } = await promisify(execFile)(process.execPath, ['tools.mjs'], { cwd: join(folder, 'guide') });
  for (const name of TOOLS) assert.match(stdout, `'${name}'`);
  assert.match(stdout, "0.5 1\n{ summary: 'about https://example.org/talk.mp4' }\n");
});

Mcp('clients hear that a reloaded plugin has other tools', async () => {
  const heard: (readonly string[])[] = [];
  await using client = await connectClient(url, { onTools: (names) => heard.push(names) });
  assert.ok((await client.listTools()).tools.some(({ name }) => name === 'word_count'));
  writeFileSync(source, readFileSync(source, 'utf8').replace("name: 'word_count'", "name: 'words'"));
  assert.equal(
    (await app.reloadPlugins()).map(({ outcome }) => outcome),
    ['reloaded'],
  );
  await eventually(() => heard.some((names) => names.includes('words')), 'the client has heard it');
  assert.not.ok(heard.at(-1)!.includes('word_count'));
  assert.equal((await client.callTool({ name: 'words', arguments: { text: 'a b' } })).structuredContent, { words: 2 });
});

Mcp('an endpoint is a tool while the deployments that it calls exist', async () => {
  const own = join(folder, 'labels');
  mkdirSync(join(own, 'src'), { recursive: true });
  writeFileSync(
    join(own, 'plugin.json'),
    '{"name":"labels","version":"1.0.0","capabilities":["deployments"],"deployments":["sentiment"]}',
  );
  writeFileSync(
    join(own, 'src/index.ts'),
    `
    import { definePlugin, defineEndpoint, z } from 'aana-host/plugin';
    const label = defineEndpoint({
      name: 'label', path: '/label', summary: 'Label', description: '',
      input: z.strictObject({ text: z.string() }), output: z.any(),
      run: (input, ctx) => ctx.deployment('sentiment').call('classify', input),
    });
    export const endpoint = definePlugin([label]);
    `,
  );
  await using labelling = makeApp(
    join(folder, 'labelling'),
    {},
    {
      ...keepingPlugins(join(folder, 'labelling')),
      mcp: { enabled: true },
    },
  );
  labelling.registerPlugins(own).registerEndpoint({
    name: 'always',
    path: '/always',
    input: z.strictObject({}),
    output: z.int(),
    run: async () => 1,
  });
  await started(labelling);
  const heard: (readonly string[])[] = [];
  await using client = await connectClient(labelling.url!, { onTools: (names) => heard.push([...names].sort()) });
  const names = async (): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name).sort();
  assert.equal(await names(), ['always']);
  const absent = toolError(await client.callTool({ name: 'label', arguments: { text: 'fine' } }));
  assert.is(absent.error, 'DeploymentNotFound');

  const deployment = SentimentDeployment.options({ user_config: { good: ['fine'] } });
  await labelling.registerDeployment('sentiment', deployment, { deploy: true });
  await eventually(() => heard.at(-1)?.includes('label') === true, 'the client has heard of the tool');
  assert.equal(await names(), ['always', 'label']);
  assert.match(textOf(await client.callTool({ name: 'label', arguments: { text: 'fine' } })), 'positive');

  await labelling.unregisterDeployment('sentiment');
  await eventually(() => heard.at(-1)?.includes('label') === false, 'the client has heard that the tool is gone');
  assert.equal(await names(), ['always']);
});

Mcp('a client that reads slowly pauses its own run', async () => {
  const own = makeApp(join(folder, 'slow'), {}, { mcp: { enabled: true, max_result_bytes: 64 * 1024 * 1024 } });
  const total = 40_000; // 27 MB of messages, more than the buffers of a connection hold
  const text = 'x'.repeat(490);
  let written = 0;
  own.registerEndpoint({
    name: 'flood',
    path: '/flood',
    input: z.strictObject({}),
    output: z.string(),
    async *run() {
      for (; written < total; written += 1) yield text;
    },
  });
  await started(own);
  const sent = request(`${own.url}/mcp`, { method: 'POST', headers: HEADERS });
  sent.end(callOf('flood'));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let before = -1;
  while (written !== before) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  assert.ok(written > 0 && written < total, String(written));
  const parts: string[] = [];
  for await (const part of response) parts.push(String(part));
  const events = parts.join('');
  const { result } = JSON.parse(events.slice(events.lastIndexOf('data: ') + 6));
  assert.is(result.structuredContent.values.length, total);
  await own.shutdown({ graceMs: 0 });
});

Mcp('open streams of changes do not hold up the end of the application', async () => {
  const own = makeApp(join(folder, 'own'), {}, { mcp: { enabled: true } });
  await started(own);
  await using client = await connectClient(own.url!, { onTools: () => {} });
  assert.equal((await client.listTools()).tools, []);
  const over = await Promise.race([
    own.shutdown({ graceMs: 60_000 }).then(() => 'over'),
    new Promise((resolve) => setTimeout(resolve, 30_000)),
  ]);
  assert.is(over, 'over');
});

Mcp.run();
