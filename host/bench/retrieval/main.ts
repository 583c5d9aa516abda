// Measures how well sections of this project's documentation are found by vectors, by words and by both, with questions
// whose relevant sections were marked by hand (`host/bench/retrieval/questions.json`). Prints one JSON object.
// `npm run bench:retrieval -- [--vectors FILE]` keeps the vectors of texts in the file, for the next run;
// `--pages tasks.md,webhooks.md` takes some pages and the questions about them.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { AanaApp } from '../../application/app.ts';
import { loadConfig } from '../../base/config/index.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import type { VectorSearch } from '../../data/storage/index.ts';
import { LlamaEmbeddingDeployment } from '../../inference/deployments/index.ts';
import { machineLoad, reportHead, round } from '../report.ts';
import { hitAt, ndcgAt } from './judgements.ts';
import { allPages, questionsAbout, sectionChunks, type SectionChunk } from './sections.ts';

const { values: flags } = parseArgs({ options: { vectors: { type: 'string' }, pages: { type: 'string' } } });
const pages = flags.pages?.split(',') ?? allPages();
const questions = questionsAbout(pages);
const model = 'all-minilm-l6-v2';
/** The tokens at which the authors of the model cut a text. */
const MAX_TOKENS = 256;
/** Chunks that are found for a question, of which the first ten sections count. */
const CHUNKS = 60;
const BATCH = 32;

const folder = mkdtempSync(join(tmpdir(), 'aana-retrieval-'));
const config = loadConfig({ env: process.env, flags: { data_dir: folder } });
const app = new AanaApp({ name: 'retrieval', config, log: silentLogger, progress: { write: () => true } });
app.registerDeployment(
  'embedding_deployment',
  LlamaEmbeddingDeployment.options({ user_config: { model_id: model, model_kwargs: { n_ctx: MAX_TOKENS } } }),
);
const loadBefore = machineLoad();
try {
  await app.migrate();
  await app.deploy();
  const embedder = app.handle(LlamaEmbeddingDeployment, 'embedding_deployment');
  const countTokens = async (text: string): Promise<number> => (await embedder.count_tokens({ text })).tokens;
  const chunks = await sectionChunks(pages, { maxTokens: MAX_TOKENS, overlapTokens: 32, countTokens });

  const kept = flags.vectors !== undefined && existsSync(flags.vectors) ? readFileSync(flags.vectors, 'utf8') : '{}';
  const vectors = new Map(Object.entries(JSON.parse(kept) as Record<string, number[]>));
  const texts = [...chunks.map(({ text }) => text), ...questions.map(({ question }) => question)];
  const missing = [...new Set(texts)].filter((text) => !vectors.has(text));
  for (let at = 0; at < missing.length; at += BATCH) {
    const sentences = missing.slice(at, at + BATCH);
    const { embedding } = await embedder.embed_batch({ sentences });
    for (const [n, text] of sentences.entries()) vectors.set(text, embedding[n] ?? []);
  }
  if (flags.vectors !== undefined) writeFileSync(flags.vectors, JSON.stringify(Object.fromEntries(vectors)));
  const vectorOf = (text: string): number[] => vectors.get(text) ?? [];

  await app.storage.write(async (repositories) => {
    const collection = repositories.vectorsOf(null);
    await collection.ensure('docs', { model, dimensions: vectorOf(texts[0] ?? '').length });
    const stored = chunks.map(({ text }, id) => ({ id: String(id), text, vector: vectorOf(text) }));
    for (let at = 0; at < stored.length; at += 500) await collection.upsert('docs', model, stored.slice(at, at + 500));
  });
  /** Returns the sections of the best chunks, each once. */
  const search = async (given: VectorSearch): Promise<string[]> => {
    const found = await app.storage.read((repositories) =>
      repositories.vectorsOf(null).search('docs', { ...given, limit: CHUNKS }),
    );
    return [...new Set(found.map(({ id }) => (chunks[Number(id)] as SectionChunk).section))];
  };
  const searches: Readonly<Record<string, (question: string) => VectorSearch>> = {
    vectors: (question) => ({ model, vector: vectorOf(question) }),
    words: (text) => ({ text }),
    both: (text) => ({ model, vector: vectorOf(text), text }),
  };
  const results: Record<string, unknown> = {};
  for (const [name, searchFor] of Object.entries(searches)) {
    const rankings: { readonly ranking: string[]; readonly relevant: readonly string[] }[] = [];
    for (const { question, relevant } of questions)
      rankings.push({ ranking: await search(searchFor(question)), relevant });
    const mean = (score: typeof hitAt | typeof ndcgAt, places: number): number =>
      round(rankings.reduce((sum, one) => sum + score(one.ranking, one.relevant, places), 0) / rankings.length);
    results[name] = { hitAt5: mean(hitAt, 5), ndcgAt10: mean(ndcgAt, 10) };
  }
  const facts = { chunks: chunks.length, sections: new Set(chunks.map(({ section }) => section)).size };
  const report = { ...reportHead('retrieval', loadBefore), questions: questions.length, ...facts, results };
  process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
} finally {
  await app.shutdown();
  rmSync(folder, { recursive: true, force: true });
}
