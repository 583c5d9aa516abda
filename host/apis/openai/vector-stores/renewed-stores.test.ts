// A vector store after its application was started again with another embedding model.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type AanaApp, LlamaEmbeddingDeployment } from 'aana-host';
import OpenAI, { APIError, toFile } from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyBert } from '../../../../native/lib/fixtures/tiny-embedding.ts';
import { makeApp, makeFolder, started } from '../../../application/fixtures/test-app.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { until } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import { startOpenAiApp } from '../fixtures/openai-app.ts';

test('gets new vectors from its texts, and is searched by words until then', async () => {
  const folder = makeFolder();
  const start = (model: string, mostBytes = 0): Promise<AanaApp> => {
    const path = join(folder, `${model}.gguf`);
    writeTinyBert(path);
    const openai = { vector_stores: { maximum_stored_bytes_per_user: mostBytes } };
    const app = makeApp(folder, {}, { cache_dir: process.env['AANA_CACHE_DIR'] ?? folder, openai });
    const kwargs = { n_threads: 1 };
    const options = { user_config: { model_id: path, model_kwargs: kwargs } };
    app.registerDeployment('embedder', LlamaEmbeddingDeployment.options(options));
    return started(app);
  };
  const clientOf = (app: AanaApp): OpenAI => new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'none', maxRetries: 0 });
  let app = await start('first');
  try {
    let client = clientOf(app);
    const { id } = await client.vectorStores.create({});
    const text = `${'the cat sat on the house '.repeat(200)} and a zebra ran`;
    const file = await client.files.create({ file: await toFile(Buffer.from(text), 'a.txt'), purpose: 'user_data' });
    const options = { pollIntervalMs: 50 };
    const added = await client.vectorStores.files.createAndPoll(id, { file_id: file.id }, options);
    assert.is(added.status, 'completed', added.last_error?.message);
    const content = async (): Promise<unknown> =>
      (await client.vectorStores.files.content(file.id, { vector_store_id: id })).data;
    const before = await content();
    const { usage_bytes: bytes } = await client.vectorStores.retrieve(id);
    await app.shutdown({ graceMs: 0 });
    rmSync(join(folder, 'data', 'files'), { recursive: true });

    app = await start('second', bytes); // new vectors are no reason to lose texts
    client = clientOf(app);
    const search = async (ranker: 'auto' | 'none'): Promise<string[]> => {
      const query = { query: 'zebra', max_num_results: 50, ranking_options: { ranker } };
      return (await client.vectorStores.search(id, query)).data.map((found) => found.content[0]!.text);
    };
    assert.match((await search('auto'))[0]!, 'zebra'); // which begins the renewal
    await until(async () => (await client.vectorStores.retrieve(id)).status === 'completed');
    assert.equal(await content(), before);
    assert.match((await search('auto'))[0]!, 'zebra');
    const chunks = (before as readonly unknown[]).length;
    assert.is((await search('none')).length, Math.min(50, chunks));
    assert.is((await client.vectorStores.retrieve(id)).file_counts.completed, 1);
  } finally {
    await app.shutdown({ graceMs: 0 });
    rmSync(folder, { recursive: true, force: true });
  }
});

test('is not renewed in turns by hosts with different models', async () => {
  const folder = makeFolder();
  const start = (model: string): Promise<AanaApp> => {
    const path = join(folder, `${model}.gguf`);
    writeTinyBert(path);
    const app = makeApp(folder, {}, { cache_dir: process.env['AANA_CACHE_DIR'] ?? folder });
    app.registerDeployment(
      'embedder',
      LlamaEmbeddingDeployment.options({ user_config: { model_id: path, model_kwargs: { n_threads: 1 } } }),
    );
    return started(app);
  };
  const clientOf = (app: AanaApp): OpenAI => new OpenAI({ baseURL: `${app.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const add = async (client: OpenAI, id: string, name: string): Promise<string> => {
    const text = Buffer.from('the cat sat on the house');
    const file = await client.files.create({ file: await toFile(text, name), purpose: 'user_data' });
    await client.vectorStores.files.create(id, { file_id: file.id });
    return file.id;
  };
  let app = await start('first');
  try {
    let client = clientOf(app);
    const { id } = await client.vectorStores.create({});
    const store = () => app.storage.read((repositories) => repositories.vectorStoresOf(null).read(id));
    const isWhole = async (): Promise<boolean> => (await client.vectorStores.retrieve(id)).status === 'completed';
    const search = async (): Promise<number> => (await client.vectorStores.search(id, { query: 'cat' })).data.length;
    const swap = async (model: string): Promise<void> => {
      await app.shutdown({ graceMs: 0 });
      app = await start(model);
      client = clientOf(app);
    };
    await add(client, id, 'a.txt');
    await until(isWhole);
    await swap('second');
    assert.is(await search(), 1);
    await until(isWhole);
    const renewed = (await store())!;

    await swap('first');
    assert.is(await search(), 1, 'by words');
    const added = await add(client, id, 'b.txt');
    const taskIsPutOff = async (): Promise<boolean> =>
      (await app.storage.read(({ connection }) => connection.query('select 1 from tasks where unserved_ms > 0')))
        .length > 0;
    await until(taskIsPutOff);
    assert.equal([(await store())!.generation, (await store())!.model], [renewed.generation, renewed.model]);
    assert.is((await client.vectorStores.files.retrieve(added, { vector_store_id: id })).status, 'in_progress');

    await app.storage.write(({ connection }) =>
      connection.query('update vector_stores set renewed_at = 0 where id = $1', [id]),
    );
    assert.is(await search(), 1);
    await until(isWhole);
    assert.is((await store())!.generation, renewed.generation + 1);
    assert.is(await search(), 2);
  } finally {
    await app.shutdown({ graceMs: 0 });
    rmSync(folder, { recursive: true, force: true });
  }
});

test('is not renewed by keys that allow other models', async () => {
  const model = (path: string) => {
    writeTinyBert(path);
    return LlamaEmbeddingDeployment.options({ user_config: { model_id: path, model_kwargs: { n_threads: 1 } } });
  };
  await using at = await startOpenAiApp({
    config: { api_service: { enabled: true } },
    prepare: (app, tiny) => {
      app.registerDeployment('first', model(tiny.replace('tiny', 'first')));
      app.registerDeployment('second', model(tiny.replace('tiny', 'second')));
    },
  });
  for (const scopes of [undefined, ['model:first'], ['model:second']]) {
    const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann', ...(scopes && { scopes }) });
    const client = new OpenAI({ baseURL: `${at.url}/v1`, apiKey, maxRetries: 0 });
    const { status, code, message } = await errorOf(client.vectorStores.create({}), APIError);
    assert.equal([status, code], [503, 'no_embedding_model'], message);
    assert.match(message, 'openai.vector_stores.embedding_deployment');
  }
});

test('is renewed by its next search if the task of its renewal was lost', async () => {
  await using at = await startOpenAiApp({
    prepare: (app, tiny) => {
      const path = tiny.replace('tiny', 'bert');
      writeTinyBert(path);
      app.registerDeployment(
        'bert',
        LlamaEmbeddingDeployment.options({ user_config: { model_id: path, model_kwargs: { n_threads: 1 } } }),
      );
    },
  });
  const { client, app } = at;
  const { id } = await client.vectorStores.create({});
  const file = await client.files.create({
    file: await toFile(Buffer.from('the cat sat on the house'), 'a.txt'),
    purpose: 'user_data',
  });
  const options = { pollIntervalMs: 50 };
  assert.is((await client.vectorStores.files.createAndPoll(id, { file_id: file.id }, options)).status, 'completed');
  await app.storage.write(async (repositories) => {
    const stores = repositories.vectorStoresOf(null);
    const store = (await stores.read(id))!;
    await repositories.vectorStoreFilesOf(null).addRun('vsfb_lost', id, 'lost');
    await stores.renew(store, store.model, 'vsfb_lost');
  });
  assert.is((await client.vectorStores.files.retrieve(file.id, { vector_store_id: id })).status, 'failed');
  assert.is((await client.vectorStores.search(id, { query: 'cat' })).data.length, 1);
  await until(async () => (await client.vectorStores.retrieve(id)).file_counts.completed === 1);
  const query = { query: 'house', ranking_options: { ranker: 'none' as const } };
  assert.is((await client.vectorStores.search(id, query)).data[0]!.filename, 'a.txt');
});

if (cannotRun === undefined) test.run();
else skip('renewed vector stores', cannotRun);
