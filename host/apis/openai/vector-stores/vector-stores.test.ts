// Vector stores with the official client, over a real embedding model, a real server and SQLite.
import OpenAI, { APIError, toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LlamaEmbeddingDeployment } from 'aana-host';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { encryptedPdf, scannedPdf, textBomb, textPdf } from '../../../io/documents/fixtures/pdfs.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { testModel } from '../../../test/helpers/models.ts';
import { until } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import { type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

type StoreFile = OpenAI.VectorStores.VectorStoreFile;

const Stores = suite('vector stores with the official client');
let at: OpenAiApp;
let ann: OpenAI;
let bob: OpenAI;

Stores.before(async () => {
  const path = await testModel('all-minilm-l6-v2');
  at = await startOpenAiApp({
    config: {
      api_service: { enabled: true },
      openai: {
        vector_stores: { maximum_file_bytes: 200_000, maximum_stores_per_user: 20, maximum_files_per_store: 5 },
      },
    },
    prepare: (app) => {
      const kwargs = { n_threads: 1, n_ctx: 256 };
      app.registerDeployment(
        'minilm',
        LlamaEmbeddingDeployment.options({ user_config: { model_id: path, model_kwargs: kwargs } }),
      );
    },
  });
  [ann, bob] = [await clientOf('ann'), await clientOf('bob')];
});
Stores.after(async () => at?.[Symbol.asyncDispose]());

async function clientOf(user: string, scopes?: readonly string[]): Promise<OpenAI> {
  const { apiKey } = await at.app.apiKeys!.create({ user_id: user, ...(scopes && { scopes: [...scopes] }) });
  return new OpenAI({ baseURL: `${at.url}/v1`, apiKey, maxRetries: 0 });
}

async function upload(content: string | Uint8Array, name: string, client = ann): Promise<string> {
  const file = await toFile(Buffer.from(content), name);
  return (await client.files.create({ file, purpose: 'assistants' })).id;
}

/** Waits until a file has ended. */
async function ended(storeId: string, fileId: string, client = ann): Promise<StoreFile> {
  let file!: StoreFile;
  const look = async (): Promise<StoreFile> =>
    (file = await client.vectorStores.files.retrieve(fileId, { vector_store_id: storeId }));
  await until(async () => (await look()).status !== 'in_progress');
  return file;
}

/** Runs work that must fail, and returns the status, the code, the parameter and the message of its error. */
async function refusal(work: Promise<unknown>): Promise<unknown[]> {
  const { status, code, param, message } = await errorOf(work, APIError);
  return [status, code, param, message];
}

const CATS = 'Cats sleep for most of the day. A cat purrs when it is content, and hunts mice at night.';
const BREAD = 'Knead the dough, let it rise for two hours, and bake the bread in a hot oven until it is brown.';
const SHIPS = 'The ship left the harbour at dawn with cargo of timber, and crossed the ocean in three weeks.';

Stores('read files, find their parts by meaning and by attributes, and forget them', async () => {
  const ids = await Promise.all([
    upload(CATS, 'cats.txt'),
    upload(BREAD, 'bread.md'),
    upload(textPdf(SHIPS), 'ships.pdf'),
  ]);
  const store = await ann.vectorStores.create({
    name: 'Tales',
    metadata: { shelf: '7' },
    file_ids: ids.slice(0, 1),
    expires_after: { anchor: 'last_active_at', days: 3 },
  });
  assert.match(store.id, /^vs_[0-9a-f]{32}$/);
  assert.equal(
    [store.object, store.name, store.metadata, store.status, store.expires_after, store.file_counts.total],
    ['vector_store', 'Tales', { shelf: '7' }, 'in_progress', { anchor: 'last_active_at', days: 3 }, 1],
  );
  assert.is(store.expires_at! - store.last_active_at!, 3 * 86_400);
  const added = await ann.vectorStores.files.create(store.id, {
    file_id: ids[1]!,
    attributes: { topic: 'food', year: 2020, draft: false },
    chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 20 } },
  });
  assert.equal(
    [added.id, added.vector_store_id, added.attributes],
    [ids[1], store.id, { topic: 'food', year: 2020, draft: false }],
  );
  await ann.vectorStores.files.create(store.id, { file_id: ids[2]!, attributes: { topic: 'sea', year: 1900 } });
  for (const id of ids) assert.equal([(await ended(store.id, id)).status, id], ['completed', id]);
  const whole = await ann.vectorStores.retrieve(store.id);
  assert.equal([whole.status, whole.file_counts.completed], ['completed', 3]);
  assert.ok(whole.usage_bytes > 3 * 384 * 4, `${whole.usage_bytes} bytes`);

  const search = async (query: string | string[], given: Partial<OpenAI.VectorStoreSearchParams> = {}) =>
    (await ann.vectorStores.search(store.id, { query, ...given })).data;
  const questions = {
    'What do kittens like to do?': CATS,
    'a recipe for a loaf': BREAD,
    'sailing over the sea': SHIPS,
  };
  for (const [question, text] of Object.entries(questions)) {
    const [best, ...others] = await search(question);
    assert.equal([best!.content, others.length], [[{ type: 'text', text }], 2]);
    assert.ok(best!.score >= others[0]!.score && best!.score <= 1);
    const [nearest] = await search(question, { ranking_options: { ranker: 'none', score_threshold: 0.1 } });
    assert.is(nearest!.content[0]!.text, text);
  }
  const [bread] = await search(['a recipe for a loaf'], { max_num_results: 1 });
  assert.equal(
    [bread!.file_id, bread!.filename, bread!.attributes],
    [ids[1], 'bread.md', { topic: 'food', year: 2020, draft: false }],
  );
  const both = await search(['a recipe for a loaf', 'sailing over the sea'], { max_num_results: 2 });
  assert.equal(both.map(({ filename }) => filename).sort(), ['bread.md', 'ships.pdf']);
  const old = { type: 'lt', key: 'year', value: 2000 } as const;
  assert.equal(
    (await search('cats', { filters: old })).map(({ filename }) => filename),
    ['ships.pdf'],
  );
  await ann.vectorStores.files.update(ids[0]!, { vector_store_id: store.id, attributes: { year: 1950 } });
  assert.equal(
    (await search('cats', { filters: old })).map(({ filename }) => filename),
    ['cats.txt', 'ships.pdf'],
  );
  assert.equal(
    await search('cats', { ranking_options: { score_threshold: 1 }, filters: { type: 'eq', key: 'no', value: 1 } }),
    [],
  );

  const content = await ann.vectorStores.files.content(ids[2]!, { vector_store_id: store.id });
  assert.equal(content.data, [{ type: 'text', text: SHIPS }]);
  await ann.vectorStores.files.delete(ids[2]!, { vector_store_id: store.id });
  await ann.files.delete(ids[1]!); // removes it from all stores
  assert.equal(
    (await search('anything')).map(({ filename }) => filename),
    ['cats.txt'],
  );
  assert.is((await ann.files.retrieve(ids[2]!)).filename, 'ships.pdf');

  const changed = await ann.vectorStores.update(store.id, { name: 'New', expires_after: null });
  assert.equal([changed.name, changed.metadata, changed.expires_at], ['New', { shelf: '7' }, null]);
  assert.equal(await ann.vectorStores.delete(store.id), {
    id: store.id,
    object: 'vector_store.deleted',
    deleted: true,
  });
  assert.equal((await refusal(ann.vectorStores.retrieve(store.id))).slice(0, 3), [
    404,
    'vector_store_not_found',
    'vector_store_id',
  ]);
});

Stores('say of each file alone why it cannot be read', async () => {
  const store = await ann.vectorStores.create({});
  const cases: readonly (readonly [name: string, bytes: string | Uint8Array, code: string, message: RegExp])[] = [
    ['empty.txt', ' \n ', 'invalid_file', /"empty.txt" has no text/],
    ['secret.pdf', encryptedPdf(), 'invalid_file', /"secret.pdf" .*needs a password/],
    ['scan.pdf', scannedPdf(), 'invalid_file', /"scan.pdf" .*has no text/],
    ['bomb.pdf', textBomb(1_000_000), 'invalid_file', /"bomb.pdf" .*more than 200000 bytes/],
    ['large.txt', 'a '.repeat(150_000), 'invalid_file', /"large.txt" .*300000 bytes/],
    ['binary.bin', new Uint8Array([0, 1, 2, 255, 254]), 'unsupported_file', /"binary.bin" /],
    [
      'names.vtt',
      `WEBVTT\n\n00:01.000 --> 00:02.000\n<v ${'a '.repeat(490)}>Yes.\n`,
      'invalid_file',
      /"names.vtt" cannot be divided into chunks: .* the name of a speaker has \d+ tokens/,
    ],
  ];
  for (const [name, bytes, code, message] of cases) {
    const fileId = await upload(bytes, name);
    await ann.vectorStores.files.create(store.id, { file_id: fileId });
    const file = await ended(store.id, fileId);
    assert.equal([name, file.status, file.last_error?.code, file.usage_bytes], [name, 'failed', code, 0]);
    assert.match(file.last_error!.message, message);
    await ann.vectorStores.files.delete(fileId, { vector_store_id: store.id });
  }
  const page = await upload(`<h1>Bread</h1><script>no()</script><p>${BREAD}</p>`, 'bread.html');
  const spoken = await upload('1\n00:00:01,000 --> 00:00:04,000\nThe ship left at dawn.\n', 'ships.srt');
  for (const [file, text] of [
    [page, /^# Bread\s+Knead [^<]* brown\.$/],
    [spoken, /^The ship left at dawn\.$/],
  ] as const) {
    await ann.vectorStores.files.createAndPoll(store.id, { file_id: file }, { pollIntervalMs: 50 });
    const { data } = await ann.vectorStores.files.content(file, { vector_store_id: store.id });
    assert.is(data.length, 1);
    assert.match(data[0]!.text!, text);
  }
  const good = await upload(CATS, 'cats.txt');
  assert.is((await ann.vectorStores.files.createAndPoll(store.id, { file_id: good })).status, 'completed');
});

Stores('have batches of files, which are listed in pages and can be cancelled', async () => {
  const { id } = await ann.vectorStores.create({ name: 'batches' });
  const ids = await Promise.all([upload(CATS, 'a.txt'), upload('', 'b.txt'), upload(BREAD, 'c.txt')]);
  const batch = await ann.vectorStores.fileBatches.createAndPoll(
    id,
    { file_ids: ids, attributes: { kind: 'batch' } },
    { pollIntervalMs: 50 },
  );
  assert.equal(
    [batch.status, batch.file_counts],
    ['completed', { in_progress: 0, completed: 2, failed: 1, cancelled: 0, total: 3 }],
  );
  const listed = [];
  for await (const file of ann.vectorStores.fileBatches.listFiles(batch.id, {
    vector_store_id: id,
    limit: 2,
    order: 'asc',
  }))
    listed.push(file.id);
  assert.equal(listed, ids.toSorted());
  const failed = await ann.vectorStores.files.list(id, { filter: 'failed' });
  assert.equal(
    failed.data.map((file) => file.id),
    [ids[1]],
  );
  const own = { files: [{ file_id: ids[2]!, attributes: { kind: 'own' } }], attributes: { kind: 'batch' } };
  const second = await ann.vectorStores.fileBatches.create(id, own);
  assert.equal((await ended(id, ids[2]!)).attributes, { kind: 'own' });
  assert.is((await ann.vectorStores.fileBatches.cancel(second.id, { vector_store_id: id })).status, 'completed');
  assert.is(
    (await ann.vectorStores.search(id, { query: 'bread', filters: { type: 'eq', key: 'kind', value: 'own' } })).data
      .length,
    1,
  );

  const long = await upload(`${SHIPS} `.repeat(2000), 'long.txt');
  const third = await ann.vectorStores.fileBatches.create(id, { file_ids: [long] });
  const cancelled = await ann.vectorStores.fileBatches.cancel(third.id, { vector_store_id: id });
  assert.equal([cancelled.status, cancelled.file_counts.cancelled], ['cancelled', 1]);
  assert.equal(
    (await ann.vectorStores.search(id, { query: 'harbour' })).data.filter(({ file_id: file }) => file === long),
    [],
  );
});

Stores('refuse what is wrong, and name it', async () => {
  const { id } = await ann.vectorStores.create({ name: 'wrong' });
  const file = await upload(CATS, 'cats.txt');
  const search = (given: object): Promise<unknown> => ann.vectorStores.search(id, { query: 'cats', ...given });
  const deep = (n: number): object =>
    n === 0 ? { type: 'eq', key: 'a', value: 1 } : { type: 'and', filters: [deep(n - 1)] };
  const cases: readonly (readonly [work: () => Promise<unknown>, status: number, param: string | null, why: RegExp])[] =
    [
      [() => search({ max_num_results: 51 }), 400, 'max_num_results', /50/],
      [() => search({ query: '' }), 400, 'query', /query/],
      [() => search({ query: [] }), 400, 'query', /query/],
      [() => search({ filters: { type: 'eq', key: 'a' } }), 400, 'filters.value', /text, a finite number/],
      [() => search({ filters: { type: 'near', key: 'a', value: 1 } }), 400, 'filters.type', /eq, ne, gt/],
      [() => search({ filters: deep(20) }), 400, null, /at most 8 deep/],
      [
        () => search({ filters: { type: 'in', key: 'a', value: Array(100_000).fill(1) } }),
        400,
        'filters.value',
        /1000 values/,
      ],
      [
        () => search({ filters: { type: 'or', filters: Array.from({ length: 500 }, () => deep(0)) } }),
        400,
        null,
        /100 conditions/,
      ],
      [() => ann.vectorStores.files.create(id, { file_id: 'file-1' }), 404, 'file_id', /No such File/],
      [() => ann.vectorStores.create({ file_ids: [file, file] }), 400, 'file_ids[1]', /given twice/],
      [() => ann.vectorStores.create({ metadata: { a: 'b'.repeat(513) } }), 400, 'metadata.a', /512/],
      [
        () => ann.vectorStores.files.create(id, { file_id: file, attributes: { a: {} as never } }),
        400,
        'attributes.a',
        /./,
      ],
      [
        () =>
          ann.vectorStores.files.create(id, {
            file_id: file,
            chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 60 } },
          }),
        400,
        'chunking_strategy.static.chunk_overlap_tokens',
        /half/,
      ],
      [() => ann.vectorStores.fileBatches.create(id, {}), 400, 'file_ids', /file_ids or files/],
      [() => ann.vectorStores.create({ name: 'a\0' }), 400, 'name', /U\+0000/],
      [
        () => ann.vectorStores.files.create(id, { file_id: file, attributes: { a: 'b\0' } }),
        400,
        'attributes.a',
        /U\+0000/,
      ],
      [
        () => ann.vectorStores.files.create(id, { file_id: file, attributes: { 'a\0': 1 } }),
        400,
        'attributes.a\0',
        /Invalid key/,
      ],
      [() => search({ filters: { type: 'eq', key: 'a', value: '\0' } }), 400, 'filters.value', /U\+0000/],
      [() => ann.vectorStores.list({ after: 'nobody' }), 400, 'after', /not the id/],
      [() => ann.vectorStores.fileBatches.retrieve('vsfb_1', { vector_store_id: id }), 404, 'batch_id', /batch/],
      [
        () => ann.vectorStores.files.retrieve(file, { vector_store_id: id }),
        404,
        'file_id',
        /file in the vector store/,
      ],
      // Another user finds nothing of it.
      [() => bob.vectorStores.retrieve(id), 404, 'vector_store_id', /No vector store/],
      [() => bob.vectorStores.search(id, { query: 'cats' }), 404, 'vector_store_id', /No vector store/],
      [() => bob.vectorStores.delete(id), 404, 'vector_store_id', /No vector store/],
      [() => bob.vectorStores.create({ file_ids: [file] }), 404, 'file_ids[0]', /No such File/],
    ];
  for (const [work, status, param, why] of cases) {
    const [gotStatus, , gotParam, message] = await refusal(work());
    assert.equal([gotStatus, param === null || gotParam], [status, param === null || param], String(message));
    assert.match(String(message), why);
  }
  // Hostile words are words.
  for (const query of ['"', 'NEAR(a b) OR *', 'a AND NOT', "'; drop table vector_stores; --", '\ud800', '🙂'])
    await ann.vectorStores.search(id, { query }).catch((error: unknown) => assert.is((error as APIError).status, 400));
  const six = await Promise.all(Array.from({ length: 6 }, (_, n) => upload(CATS, `${n}.txt`)));
  assert.equal((await refusal(ann.vectorStores.fileBatches.create(id, { file_ids: six }))).slice(0, 2), [
    409,
    'too_many_store_files',
  ]);
  assert.is((await ann.vectorStores.retrieve(id)).file_counts.total, 0);
  assert.equal((await bob.vectorStores.list()).data, []);
  assert.ok((await ann.vectorStores.list({ limit: 1 })).data.some((one) => one.id === id));
});

Stores('that are deleted meanwhile are not found', async () => {
  const file = await upload(CATS, 'cats.txt');
  for (let n = 0; n < 10; n += 1) {
    const { id } = await ann.vectorStores.create({});
    const added = [
      ann.vectorStores.files.create(id, { file_id: file }),
      ann.vectorStores.fileBatches.create(id, { file_ids: [file] }),
    ];
    await ann.vectorStores.delete(id);
    for (const { reason } of (await Promise.allSettled(added)).filter(({ status }) => status === 'rejected') as {
      reason: APIError;
    }[])
      assert.is(reason.status, 404, reason.message);
  }
});

Stores('divide a long text into chunks that the model takes, of which each is found', async () => {
  const { id } = await ann.vectorStores.create({});
  const facts = Array.from({ length: 200 }, (_, n) => `The number of the house of family ${n} is ${7 * n + 3}.`);
  const file = await upload(facts.join(' '), 'facts.txt');
  const added = await ann.vectorStores.files.createAndPoll(id, { file_id: file }, { pollIntervalMs: 50 });
  assert.is(added.status, 'completed', added.last_error?.message);
  const { data } = await ann.vectorStores.files.content(file, { vector_store_id: id });
  assert.ok(data.length > 15, `${data.length} chunks`);
  for (const fact of facts)
    assert.ok(
      data.some(({ text }) => text!.includes(fact)),
      fact,
    );
  const found = await ann.vectorStores.search(id, { query: 'house of family 150', max_num_results: 3 });
  assert.ok(found.data.some(({ content }) => content[0]!.text.includes('family 150 is 1053')));
});

Stores('need a key that may use the embedding model, and read the file', async () => {
  const file = await upload(CATS, 'cats.txt');
  const noModel = await clientOf('ann', ['model:tiny']);
  const [status, code] = await refusal(noModel.vectorStores.create({}));
  assert.equal([status, code], [503, 'no_embedding_model']);
  const noFiles = await clientOf('ann', ['/v1/vector_stores', '/v1/vector_stores/*']);
  assert.equal((await refusal(noFiles.vectorStores.create({ file_ids: [file] }))).slice(0, 2), [
    403,
    'insufficient_permissions',
  ]);
  await noFiles.vectorStores.create({});
});

Stores('put the prompts of the deployment before questions and before texts of files', async () => {
  const kwargs = { n_threads: 1, n_ctx: 256 };
  const model = await testModel('all-minilm-l6-v2');
  const prompts = { query: 'What is said about ', document: 'From a letter: ', usual: 'Hm. ', none: '' };
  const config = { model_id: model, model_kwargs: kwargs, prompts, default_prompt_name: 'usual' };
  await using own = await startOpenAiApp({
    prepare: (app) => app.registerDeployment('minilm', LlamaEmbeddingDeployment.options({ user_config: config })),
  });
  const { client, app } = own;
  const { id } = await client.vectorStores.create({});
  await client.vectorStores.files.createAndPoll(id, { file_id: await upload(CATS, 'cats.txt', client) });
  const query = { query: 'kittens', ranking_options: { ranker: 'none' as const } };
  const [found] = (await client.vectorStores.search(id, query)).data;
  const sentences = [`${prompts.query}kittens`, prompts.document + CATS];
  const { embedding } = await app
    .handle(LlamaEmbeddingDeployment, 'minilm')
    .embed_batch({ sentences, prompt_name: 'none' });
  const cosine = embedding[0]!.reduce((sum, value, at) => sum + value * embedding[1]![at]!, 0);
  assert.ok(Math.abs(found!.score - cosine) < 1e-4, `${found!.score}, ${cosine}`);
});

Stores('fail a file for which its user has no room, and keep what is there', async () => {
  const user_config = { model_id: await testModel('all-minilm-l6-v2'), model_kwargs: { n_threads: 1, n_ctx: 256 } };
  await using own = await startOpenAiApp({
    config: { openai: { vector_stores: { maximum_stored_bytes_per_user: 20_000 } } },
    prepare: (app) => app.registerDeployment('minilm', LlamaEmbeddingDeployment.options({ user_config })),
  });
  const { vectorStores } = own.client;
  const { id } = await vectorStores.create({});
  const add = async (text: string, name: string): Promise<StoreFile> =>
    vectorStores.files.createAndPoll(id, { file_id: await upload(text, name, own.client) }, { pollIntervalMs: 50 });
  assert.is((await add(CATS, 'cats.txt')).status, 'completed');
  const { usage_bytes: before } = await vectorStores.retrieve(id);
  const long = await add(`${SHIPS} `.repeat(200), 'ships.txt');
  assert.equal([long.status, long.last_error?.code, long.usage_bytes], ['failed', 'server_error', 0]);
  assert.match(long.last_error!.message, /would have \d+ bytes, but may have at most 20000/);
  assert.is((await vectorStores.retrieve(id)).usage_bytes, before);
  assert.is((await add(BREAD, 'bread.txt')).status, 'completed');
  const { data } = await vectorStores.search(id, { query: 'sailing over the sea' });
  assert.equal(data.map(({ filename }) => filename).toSorted(), ['bread.txt', 'cats.txt']);
});

if (cannotRun === undefined) Stores.run();
else skip('vector stores', cannotRun);
