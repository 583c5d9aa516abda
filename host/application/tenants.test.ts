// Data of the users of plugins is separated, with API keys, real components and the whole application.
import { mkdirSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaApp } from 'aana-host';
import { keepingPlugins, makeApp, makeFolder, started } from './fixtures/test-app.ts';
import { buildTestPlugin } from '../endpoints/plugins/fixtures/build-test-plugin.ts';

const SOURCE = `
import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';

const keep = defineEndpoint({
  name: 'keep', path: '/keep', summary: '', input: z.strictObject({ id: z.string() }),
  output: z.any(), uses: ['storage', 'vectors', 'repositories-write'],
  async run({ id }, { user, storage, vectors, repositories: { videos, transcripts } }) {
    await storage.set(id, user ?? 'nobody');
    await vectors.ensure(id, { model: user ?? 'nobody', dimensions: 1 }).catch(() => {});
    await videos.save({ media_id: id, title: 'of ' + (user ?? 'nobody') });
    const said = { transcript: 'said', segments: [], language: 'en', language_confidence: 1 };
    return (await transcripts.save({ media_id: id, model: 'm', ...said })).id;
  },
});
const find = defineEndpoint({
  name: 'find', path: '/find', summary: '', input: z.strictObject({ transcript: z.optional(z.number()) }),
  output: z.any(), uses: ['storage', 'vectors', 'repositories'],
  async run({ transcript }, { storage, vectors, repositories: { videos, transcripts } }) {
    const collections = (await vectors.list().all()).map(({ name, model }) => name + ' ' + model);
    const keys = await storage.keys('').all();
    const stored = await Promise.all(keys.map(async (key) => key + ' ' + await storage.get(key)));
    const titles = (await videos.list().all()).map(({ media_id: id, title }) => id + ' ' + title);
    return { stored, collections, videos: titles, said: transcript && (await transcripts.read(transcript)).transcript };
  },
});
export const endpoint = definePlugin([keep, find]);
`;

const Tenants = suite('users of plugins');
let folder = '';
let plugin = '';
/** Number of databases. Each application has its own. */
let made = 0;

Tenants.before(async () => {
  folder = makeFolder();
  plugin = join(folder, 'keeper');
  mkdirSync(join(plugin, 'src'), { recursive: true });
  await writeFile(
    join(plugin, 'plugin.json'),
    JSON.stringify({
      name: 'keeper',
      version: '1.0.0',
      capabilities: ['storage', 'vectors', 'repositories', 'repositories-write'],
    }),
  );
  await writeFile(join(plugin, 'src/index.ts'), SOURCE);
  await buildTestPlugin(plugin);
});
Tenants.after(() => rmSync(folder, { recursive: true, force: true }));

interface Asking {
  readonly app: AanaApp;
  /** Sends a request as a user, or without a key. */
  ask(
    path: string,
    user: string | undefined,
    input: object,
  ): Promise<{ status: number; body: ReturnType<typeof JSON.parse> }>;
}

async function asking(apiService: object, dataDir = `data-${++made}`): Promise<Asking> {
  const app = await started(
    makeApp(
      folder,
      {},
      {
        ...keepingPlugins(folder),
        api_service: apiService,
        data_dir: join(folder, dataDir),
        plugin_limits: { threads: 1 },
        plugin_grants: { keeper: { capabilities: ['*'] } },
      },
    ).registerPlugins(plugin),
  );
  const keys = new Map<string, string>();
  return {
    app,
    async ask(path, user, input) {
      if (user !== undefined && !keys.has(user)) keys.set(user, (await app.apiKeys!.create({ user_id: user })).apiKey);
      const response = await fetch(`${app.url}${path}`, {
        method: 'POST',
        body: JSON.stringify(input),
        headers: { 'content-type': 'application/json', 'x-api-key': keys.get(user ?? '') ?? '' },
      });
      return { status: response.status, body: await response.json() };
    },
  };
}

Tenants('find only their own data, even under ids that others use', async () => {
  const { app, ask } = await asking({ enabled: true });
  await using _ = app;
  const { body: said } = await ask('/keep', 'ann', { id: 'talk' });
  assert.is(typeof said, 'number', JSON.stringify(said));
  assert.is((await ask('/keep', 'bob', { id: 'talk' })).status, 200, 'an id is not taken by somebody else');
  assert.equal((await ask('/find', 'ann', { transcript: said })).body, {
    stored: ['talk ann'],
    collections: ['talk ann'],
    videos: ['talk of ann'],
    said: 'said',
  });
  assert.equal((await ask('/find', 'bob', {})).body, {
    stored: ['talk bob'],
    collections: ['talk bob'],
    videos: ['talk of bob'],
  });
  const stolen = await ask('/find', 'bob', { transcript: said });
  assert.equal([stolen.status, stolen.body.error], [404, 'NotFoundException']);
  assert.equal((await ask('/find', 'carl', {})).body, { stored: [], collections: [], videos: [] });
});

Tenants('share data if the application allows it', async () => {
  const { app, ask } = await asking({ enabled: true, share_repositories: true, shared_storage: ['keeper'] });
  await using _ = app;
  const { body: said } = await ask('/keep', 'ann', { id: 'talk' });
  assert.equal((await ask('/find', 'bob', { transcript: said })).body, {
    stored: ['talk ann'],
    collections: ['talk ann'],
    videos: ['talk of ann'],
    said: 'said',
  });
  assert.is((await ask('/keep', 'bob', { id: 'talk' })).body.error, 'MediaIdAlreadyExistsException');
});

Tenants('find no data from before API keys were switched on, unless it is shared', async () => {
  const before = await asking({ enabled: false }, 'old');
  assert.is((await before.ask('/keep', undefined, { id: 'talk' })).status, 200);
  await before.app.shutdown();
  {
    const { app, ask } = await asking({ enabled: true }, 'old');
    await using _ = app;
    assert.equal((await ask('/find', 'ann', {})).body, { stored: [], collections: [], videos: [] });
  }
  const { app, ask } = await asking({ enabled: true, share_repositories: true, shared_storage: ['*'] }, 'old');
  await using _ = app;
  assert.equal((await ask('/find', 'ann', {})).body, {
    stored: ['talk nobody'],
    collections: ['talk nobody'],
    videos: ['talk of nobody'],
  });
});

Tenants('cannot keep more than their limit', async () => {
  const { app, ask } = await asking({ enabled: true, maximum_repository_bytes_per_user: 1000 });
  await using _ = app;
  assert.is((await ask('/keep', 'ann', { id: 'one' })).status, 200);
  const full = await ask('/keep', 'ann', { id: 'two' });
  assert.equal([full.status, full.body.error], [413, 'StorageFull']);
  assert.is((await ask('/keep', 'bob', { id: 'two' })).status, 200);
});

Tenants.run();
