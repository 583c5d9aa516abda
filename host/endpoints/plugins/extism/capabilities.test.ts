import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { sqliteDatabases, sqliteModule } from '../../../data/storage/fixtures/databases.ts';
import { PluginStorage, Storage } from '../../../data/storage/index.ts';
import { skip } from '../../../test/skip.ts';
import { compileFixture, installCompiler } from '../fixtures/assemblyscript/guest.ts';
import { testCacheDir } from '../fixtures/build-test-plugin.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';
import type { PluginInvocation } from '../invocation/invocation.ts';

interface Context {
  ports: FakePorts;
  run(endpoint: string, input?: unknown, options?: Partial<PluginInvocation>): Promise<unknown>;
}

const Capabilities = suite<Context>('capabilities of Extism plugins');
const compiler = await installCompiler();
if (compiler.missing !== undefined) skip('capabilities of Extism plugins', compiler.missing);
else {
  let dir = '';
  let host: PluginHost | undefined;
  let storage: Storage | undefined;
  const databases = sqliteDatabases();
  let plugin: LoadedPlugin;

  Capabilities.before(async (context) => {
    dir = await mkdtemp(join(tmpdir(), 'aana-extism-'));
    await cp(await compileFixture(compiler, dir, 'capabilities'), join(dir, 'dist', 'capable.wasm'));
    const manifest = {
      name: 'capable',
      version: '1.0.0',
      runtime: 'extism',
      capabilities: ['media', 'deployments', 'storage', 'repositories', 'repositories-write', 'http', 'remote'],
      deployments: ['model'],
      hosts: ['api.example.org', 'other.example.org'],
      settings: {
        key: { type: 'string', description: 'A key.', secret: true },
        none: { type: 'string', description: 'What nobody gives.' },
      },
    };
    await writeFile(join(dir, 'plugin.json'), JSON.stringify(manifest));
    context.ports = new FakePorts();
    context.ports.repositories = storage = new Storage({
      config: await databases.create(),
      log: silentLogger,
      sqliteModule,
    });
    host = new PluginHost({
      sandbox: testSandbox,
      ports: context.ports,
      cacheDir: testCacheDir(),
      log: silentLogger,
      grants: { capable: { capabilities: ['*'], hosts: ['api.example.org'] } },
      settings: { capable: { key: 'a "€"' } },
    });
    plugin = await host.load(dir);
    context.run = async (endpoint, input = {}, options = {}) =>
      JSON.parse(
        await plugin.run({
          endpoint,
          input: JSON.stringify(input),
          requestId: 'r',
          deadlineMs: 30_000,
          signal: new AbortController().signal,
          files: new Map(),
          ...options,
        }),
      );
  });
  Capabilities.after(async () => {
    await host?.close(); // undefined when `before` failed
    await storage?.close();
    await databases.end();
    await rm(dir, { recursive: true, force: true });
  });

  Capabilities('the files of a request are read in pieces', async ({ run }) => {
    const path = join(dir, 'upload');
    await writeFile(path, '\ufeffé€x');
    const file = { path, bytes: 9, filename: 't.csv', mimeType: 'text/csv' };
    assert.equal(await run('upload', {}, { files: new Map([['file', file]]) }), {
      info: { name: 't.csv', media_type: 'text/csv', size: 9 },
      read: [0xc3, 0xa9],
      text: { text: 'é', length: 5 },
      missing: 'UploadedFileNotFound',
    });
  });

  Capabilities('an answer is sent in bytes, with its status and headers', async ({ run }) => {
    const sent: unknown[] = [];
    const answer = {
      begin: (head: unknown) => void sent.push(head),
      send: async (bytes: Uint8Array) => void sent.push([...bytes]),
    };
    assert.is(await run('answer', {}, { answer }), null);
    assert.equal(sent, [{ mediaType: 'image/png', status: 201, headers: [['etag', '"1"']] }, [0, 255, 0], [255, 0]]);
  });

  Capabilities('values are kept by key, in bytes', async ({ run, ports }) => {
    assert.equal(await run('store'), ['none', '', ['b', 'c'], 'välue 1', true, false]);
    assert.equal([...ports.values.keys()], ['capable a', 'capable c']);
  });

  Capabilities('values are added to, compared and listed', async ({ run, ports }) => {
    const usual = ports.storage;
    ports.storage = new PluginStorage(storage!);
    assert.equal(await run('counted'), [-7, true, [false, true, true, true], [{ key: 'k', size: 1 }]]);
    ports.storage = usual;
  });

  Capabilities('settings are told as JSON, and only the declared ones', async ({ run }) => {
    assert.equal(await run('settings'), ['a "€"', true, '', 'SettingDenied']);
  });

  Capabilities('repositories keep videos, captions and transcripts of the application', async ({ run }) => {
    const [before, saved, first, others, loose, transcript, ...rest] = (await run('records')) as [
      boolean,
      string,
      Record<string, unknown>,
      unknown[],
      Record<string, unknown>,
      object,
      ...unknown[],
    ];
    const caption = { media_id: 'v1', model: 'm' };
    assert.equal([before, saved], [false, 'v1']);
    assert.equal(first, {
      id: first.id,
      ...caption,
      frame_id: 1,
      caption: 'one',
      timestamp: 0.5,
      caption_type: 'scene',
    });
    assert.equal(others, [
      { id: Number(first.id) - 1, ...caption, frame_id: 2, caption: 'two', timestamp: 1.5, caption_type: 'caption' },
    ]);
    assert.equal(loose, {
      id: Number(first.id) + 1,
      media_id: null,
      model: 'm',
      frame_id: 2_147_483_647,
      caption: 'loose',
      timestamp: 0,
      caption_type: 'caption',
    });
    const said = {
      model: 'w',
      language: 'de',
      language_confidence: 0.75,
      transcript_type: 'transcript',
      transcript: 'Grüße',
      segments: [{ text: 'Grüße' }],
    };
    assert.equal(transcript, { id: 1, media_id: 'v1', ...said });
    const video = { media_id: 'v1', path: null, url: 'https://a.example/v', title: 'Grüße', description: null };
    assert.equal(rest, [
      1,
      0,
      video,
      1,
      true,
      'NotFoundException',
      'InvalidArguments',
      [true, true, true, true, true, false],
    ]);
  });

  Capabilities('requests go to the hosts that are asked for and granted', async ({ run }) => {
    const request = { method: 'post', url: 'https://api.example.org/x', headers: [['X-Test', 'yes']] };
    assert.equal(await run('request', { request }), {
      head: {
        status: 201,
        url: request.url,
        headers: [
          ['x-test', 'yes'],
          ['x-method', 'post'],
        ],
      },
      body: 'sent',
    });
    for (const url of ['https://other.example.org/x', 'https://example.com/']) {
      assert.is(await run('request', { request: { url } }).catch((error: Error) => error.name), 'HostDenied');
    }
  });

  Capabilities('helpers run beside their plugin; one that there is not is an error of its own', async ({ run }) => {
    assert.equal(await run('helped'), [0, 2, 4, 'HelperNotFound']);
  });

  Capabilities('a video tells its facts, and its frames come one after the other', async ({ run }) => {
    const { facts, seen, subtitles, refused } = (await run('frames')) as {
      readonly facts: { readonly frame_rate: number };
      readonly seen: readonly unknown[];
      readonly subtitles: readonly string[];
      readonly refused: string;
    };
    assert.is(facts.frame_rate, 25);
    const info = { width: 64, height: 48, format: 'rawvideo' };
    const file = 'png of frame 1'.length;
    assert.equal(seen, [1, info, file, 2, info, file]);
    assert.equal(subtitles, ['track of the file', 'track 1']);
    assert.is(refused, 'InvalidHandle');
  });

  Capabilities('an image tells its size and its pixels; how far a run has come is told', async ({ run }) => {
    assert.equal(await run('image'), { info: { width: 640, height: 480, format: 'png' }, pixels: [0, 1, 2, 3, 4, 5] });
    const reports: unknown[] = [];
    await run('progress', {}, { onProgress: (...report) => void reports.push(report) });
    assert.equal(reports, [[0.25, 'a quarter']]);
  });

  Capabilities('images are passed to deployments as handles', async ({ run }) => {
    const image = { pixels: { id: 'opened', bytes: 3, sha256: '0' }, width: 1, height: 1 };
    assert.equal(await run('seen'), [
      { content: [{ type: 'image', image }] },
      [0],
      'the arguments name image 1, but 1 were given',
    ]);
  });

  Capabilities.run();
}
