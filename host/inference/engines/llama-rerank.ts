// Runs in a replica: scores of documents for a query with llama.cpp.
import type { Implementation, StartContext } from '../replicas/process/implementation.ts';
import type { CallContext } from '../rpc/index.ts';
import { nextSettings } from './embedding/next-settings.ts';
import { vectorsOf } from './embedding/vectors.ts';
import { EmbeddingEngine, type EmbeddingModelSpec } from './embedding-engine.ts';

/** The configuration of a replica, made by `inference/deployments/builtin/llama-rerank-deployment.ts`. */
interface RerankSpec extends EmbeddingModelSpec {
  readonly rerank_template?: string;
  readonly settings: { readonly truncate: 'none' | 'start' | 'end' };
}

interface RerankArgs {
  readonly query: string;
  readonly documents: readonly string[];
  readonly top_n?: number | null;
  readonly raw_scores?: boolean | null;
  readonly truncate?: RerankSpec['settings']['truncate'] | null;
}

interface Result {
  readonly index: number;
  readonly score: number;
}

/** A signal without a limit, because the host ends a replica whose warm-up makes no progress. */
const UNLIMITED = new AbortController().signal;

export async function start(spec: RerankSpec, context: StartContext): Promise<Implementation> {
  const task = {
    task: 'rank',
    ...(spec.rerank_template !== undefined && { rankTemplate: spec.rerank_template }),
  } as const;
  const engine = await EmbeddingEngine.load(spec, task, context);
  let current = spec;
  const rerank = (args: RerankArgs, call: CallContext) => rerankWith(engine, current.settings, args, call);
  return {
    ...engine.life,
    // The host has checked the arguments against the schemas of the deployment's methods.
    methods: {
      rerank: (args, call) => rerank(args as unknown as RerankArgs, call),
      count_tokens: (args, call) => {
        const { query, document } = args as { query: string; document: string };
        return engine.count({ query, texts: [document] }, call);
      },
    },
    warmUp: async () => void (await rerank({ query: 'Hello', documents: ['Hello'] }, { signal: UNLIMITED })),
    reconfigure: async (next) => void (current = { ...current, settings: nextSettings(current, next as RerankSpec) }),
  };
}

async function rerankWith(
  engine: EmbeddingEngine,
  settings: RerankSpec['settings'],
  { query, documents, top_n: most, raw_scores: isRaw, truncate }: RerankArgs,
  context: CallContext,
): Promise<{ results: Result[]; tokens: number }> {
  const { values, tokens } = await engine.run({ query, texts: documents }, truncate ?? settings.truncate, context);
  const { dimensions, hasProbabilities } = engine.info;
  const toScore = (value: number): number => (isRaw || hasProbabilities ? value : 1 / (1 + Math.exp(-value)));
  // Raw scores decide the order, because probabilities near 0 and 1 are equal after rounding.
  const ranked = vectorsOf(values, dimensions)
    .map(([value = Number.NaN], index) => ({ index, value }))
    .sort((a, b) => b.value - a.value || a.index - b.index)
    .slice(0, most ?? undefined);
  return {
    results: ranked.map(({ index, value }) => ({ index, score: toScore(value) })),
    tokens: tokens.reduce((sum, count) => sum + count, 0),
  };
}
