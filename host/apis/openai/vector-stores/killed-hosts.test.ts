// Files that are read into a vector store while their hosts are killed. `AANA_STORE_KILLS` is the number of kills.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { TINY_BERT, writeTinyBert } from '../../../../native/lib/fixtures/tiny-embedding.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { until } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import { endHost, type MortalHost, openStorage, startHost } from '../fixtures/mortal-hosts.ts';

const KILLS = Number(process.env['AANA_STORE_KILLS'] ?? 3);
const CHUNKS = 500 * KILLS;
const FILES = 2 * KILLS;
const WORDS = 'the cat dog bird house sat ran on in of what is who red big small and it to'.split(' ');

test('chunks of killed hosts are neither lost nor stored twice', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aana-stores-'));
  writeTinyBert(join(folder, 'bert.gguf'));
  let host: MortalHost = await startHost(folder);
  const client = (): OpenAI => new OpenAI({ baseURL: `${host.url}/v1`, apiKey: 'none', maxRetries: 2 });
  try {
    await using storage = openStorage(folder);
    // A word is a token, and a chunk has as many as the model takes, with the two that the model adds.
    const words = Math.ceil(CHUNKS / FILES) * (TINY_BERT.contextTokens - 2);
    const texts = new Map<string, string>();
    for (let n = 0; n < FILES; n += 1) {
      const text = Array.from({ length: words }, (_, at) => WORDS[(at * (n + 1)) % WORDS.length]).join(' ');
      const file = await client().files.create({
        file: await toFile(Buffer.from(text), `${n}.txt`),
        purpose: 'user_data',
      });
      texts.set(file.id, text);
    }
    const { id } = await client().vectorStores.create({
      file_ids: [...texts.keys()],
      chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } },
    });
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await endHost(host, { stored: Math.floor((CHUNKS * kill) / (KILLS + 1)), how: 'kill' });
      host = await startHost(folder);
    }
    let store!: OpenAI.VectorStore;
    await until(async () => (store = await client().vectorStores.retrieve(id)).status === 'completed', 600_000);
    assert.is(store.file_counts.completed, FILES);
    let chunks = 0;
    for (const [file, text] of texts) {
      const { data } = await client().vectorStores.files.content(file, { vector_store_id: id });
      assert.is(data.map((part) => part.text).join(' '), text);
      chunks += data.length;
    }
    assert.ok(chunks >= CHUNKS, `${chunks} chunks`);
    const usage = await storage.read((repositories) => repositories.vectorStoresOf(null).texts.usage());
    assert.equal([usage.chunks, usage.bytes], [chunks, store.usage_bytes]);
    const vectors = await storage.read(({ connection }) =>
      connection.query<{ count: number }>('select count(*) as count from vector_embeddings_1_rowids'),
    );
    assert.is(vectors[0]!.count, chunks);
  } finally {
    host.process.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});

if (cannotRun === undefined) test.run();
else skip('vector stores of killed hosts', cannotRun);
