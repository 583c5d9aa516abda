// Measures searches in collections of vectors on SQLite and PostgreSQL, and prints one JSON object: the recall of the
// ten nearest vectors, the CPU time of a search beside numpy's (SQLite) and beside the bare statement of pgvector
// (PostgreSQL), sent as a text and prepared with a binary vector, and the memory.
// `npm run bench:vectors -- [--vectors N] [--postgres-vectors N] [--searches N]`
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { postgresDatabases, sqliteDatabases, type TestDatabases } from '../data/storage/fixtures/databases.ts';
import {
  type Connection,
  migrate,
  Repositories,
  type VectorRepository,
  type VectorSearch,
} from '../data/storage/index.ts';
import { binaryOf } from '../data/storage/repositories/vectors/postgres-vector-index.ts';
import { cpuSeconds, descendants } from '../test/helpers/server.ts';
import { machineLoad, median, reportHead, round } from './report.ts';

const { values: flags } = parseArgs({
  options: {
    vectors: { type: 'string', default: '100000' },
    'postgres-vectors': { type: 'string', default: '100000' },
    searches: { type: 'string', default: '30' },
  },
});
const searches = Number(flags.searches);
const DIMENSIONS = 384;
/** Vectors lie around so many points, as those of texts do. */
const CENTRES = 500;
const BATCH = 1000;
const RESULTS = 10;
/** With more vectors, the index of PostgreSQL is dropped after so many, and made when all are stored. */
const INDEXED = 10_000;
const INDEX = 'vector_index_1_embedding';
const BARE = `select id from vector_index_1 order by embedding <#> cast($1 as vector) limit ${RESULTS}`;
const model = 'random';

let state = 7;
const next = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};
/** A random number around 0, nearly of a normal distribution. */
const deviation = (): number => next() + next() + next() - 1.5;
const centres = Array.from({ length: CENTRES }, () => Float32Array.from({ length: DIMENSIONS }, deviation));
function randomVector(): Float32Array {
  const vector = Float32Array.from(centres[Math.floor(next() * CENTRES)] ?? [], (value) => value + 0.8 * deviation());
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** Returns the CPU seconds of this process and of the running processes of PostgreSQL. */
async function cpu(servers: readonly number[]): Promise<number> {
  const others = await Promise.all(servers.map(cpuSeconds));
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + others.reduce((sum, seconds) => sum + seconds, 0);
}

/** Returns the ids of PostgreSQL's processes. Looking for them takes as much CPU time as dozens of searches. */
const serverPids = async (): Promise<number[]> =>
  (await descendants(process.pid)).filter(({ command }) => command.includes('postgres')).map(({ pid }) => pid);

/** Returns the CPU milliseconds of one run of `work`, of so many. */
async function cpuMs(work: (vector: Float32Array) => Promise<unknown>): Promise<number> {
  const queries = Array.from({ length: searches }, randomVector);
  const servers = await serverPids();
  const before = await cpu(servers);
  for (const query of queries) await work(query);
  return round((((await cpu(servers)) - before) * 1000) / searches, 2);
}

async function measure(databases: TestDatabases, count: number): Promise<Record<string, unknown>> {
  await using database = await databases.open(await databases.create());
  await migrate(database);
  const write = (work: (vectors: VectorRepository) => Promise<unknown>): Promise<unknown> =>
    database.write((connection) => work(new Repositories(connection).vectorsOf(null)));
  const search = (given: VectorSearch) =>
    database.read((connection) => new Repositories(connection).vectorsOf(null).search('bench', { model, ...given }));
  await write((vectors) => vectors.ensure('bench', { model, dimensions: DIMENSIONS }));
  const vectors = Array.from({ length: count }, randomVector);
  const isPostgres = database.dialect === 'postgresql';
  const script = (sql: string): Promise<unknown> =>
    database.write((connection) => connection.script(sql), { isUnlimited: true });
  const servers = await serverPids();
  const beforeInserts = await cpu(servers);
  const measured = isPostgres ? Math.min(count, INDEXED) : count;
  let insertCpuMs = 0;
  for (let first = 0; first < count; first += BATCH) {
    if (isPostgres && first === INDEXED) await script(`drop index ${INDEX}`);
    const chunks = vectors.slice(first, first + BATCH).map((vector, n) => ({
      id: String(first + n),
      text: `line ${first + n} of a page with some more words`,
      vector,
      metadata: { hundredth: (first + n) % 100 },
    }));
    await write((repository) => repository.upsert('bench', model, chunks));
    if (first < measured && first + BATCH >= measured)
      insertCpuMs = round((((await cpu(servers)) - beforeInserts) * 1000) / measured, 3);
  }
  if (isPostgres && count > INDEXED)
    await script(
      `set local maintenance_work_mem = '1GB';
       create index ${INDEX} on vector_index_1 using hnsw (embedding vector_ip_ops); analyze`,
    );
  let hits = 0;
  for (let query = 0; query < searches; query += 1) {
    const vector = randomVector();
    const products = vectors.map((one, id) => ({
      id,
      product: one.reduce((sum, value, at) => sum + value * vector[at]!, 0),
    }));
    const nearest = products.toSorted((one, other) => other.product - one.product).slice(0, RESULTS);
    const found = new Set((await search({ vector, limit: RESULTS })).map(({ id }) => Number(id)));
    hits += nearest.filter(({ id }) => found.has(id)).length;
  }
  const hundredth = { type: 'eq', key: 'hundredth', value: 7 } as const;
  // Alternated, because other programs use the same cores.
  const [own, bare, prepared]: [number[], number[], number[]] = [[], [], []];
  const alone = (query: (connection: Connection, vector: Float32Array) => Promise<unknown>): Promise<number> =>
    cpuMs((vector) => database.read((connection) => query(connection, vector)));
  for (let turn = 0; turn < 3; turn += 1) {
    own.push(await cpuMs((vector) => search({ vector, limit: RESULTS })));
    if (!isPostgres) continue;
    bare.push(await alone((connection, vector) => connection.query(BARE, [`[${vector.join(',')}]`])));
    const statement = { sqlite: '', postgresql: BARE };
    prepared.push(await alone((connection, vector) => connection.query(statement, [binaryOf(vector)])));
  }
  return {
    database: databases.title,
    vectors: count,
    recall: round(hits / (searches * RESULTS)),
    insertCpuMs,
    searchCpuMs: median(own),
    ...(isPostgres && { pgvectorCpuMs: median(bare), preparedPgvectorCpuMs: median(prepared) }),
    filteredCpuMs: await cpuMs((vector) => search({ vector, filter: hundredth })),
    wordsCpuMs: await cpuMs(() => search({ text: String(Math.floor(next() * count)) })),
    bothCpuMs: await cpuMs((vector) => search({ vector, text: String(Math.floor(next() * count)) })),
    hostMemoryMb: Math.round(process.memoryUsage().rss / 2 ** 20),
  };
}

/** Returns the CPU milliseconds of numpy's exact search on one thread, or why there are none. */
function numpyCpuMs(count: number): number | string {
  const script = fileURLToPath(new URL('../../../host/bench/vectors/numpy_search.py', import.meta.url));
  try {
    return round(Number(execFileSync('python3', [script, String(count), String(DIMENSIONS)], { encoding: 'utf8' })), 2);
  } catch (error) {
    return `numpy was left out: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`;
  }
}

const loadBefore = machineLoad();
const sqlite = sqliteDatabases();
const postgres = await postgresDatabases({ hasVectors: true, settings: ['max_wal_size=4GB'] });
try {
  const results: unknown[] = [await measure(sqlite, Number(flags.vectors))];
  results.push({ numpyCpuMs: numpyCpuMs(Number(flags.vectors)) });
  results.push(
    typeof postgres === 'string'
      ? `PostgreSQL was left out: ${postgres}`
      : await measure(postgres, Number(flags['postgres-vectors'])),
  );
  process.stdout.write(`${JSON.stringify({ ...reportHead('vectors', loadBefore), results }, undefined, 2)}\n`);
} finally {
  await sqlite.end();
  if (typeof postgres !== 'string') await postgres.end();
}
