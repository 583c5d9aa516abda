import { fail } from '../../../base/core/errors.ts';
import type { RequestContext } from '../../../base/core/request-context.ts';
import type { CallOptions, InputType, ModelDirectory } from '../../../inference/deployments/index.ts';
import { CAPABILITIES, capabilitiesOf } from '../models/capabilities.ts';
import { resolveModel } from '../models/model-names.ts';
import type { EmbeddedBatch } from '../vectors/embeddings.ts';

type EmbedContext = RequestContext & { readonly signal: AbortSignal };

/** What makes the vectors of stores. */
export interface EmbeddingModel {
  /** Stores know it by this name: vectors of models with other names cannot be compared with theirs. */
  readonly name: string;
  /**
   * Returns the vector of each text, with the prompt for its type that the deployment has. Of a text that is too long,
   * only its beginning counts.
   */
  embed(texts: readonly string[], type: InputType, context: EmbedContext): Promise<EmbeddedBatch['embedding']>;
  /** Counts the tokens of a document, also of one that is too long; undefined if the deployment cannot. */
  readonly count: ((text: string, context: EmbedContext) => Promise<TokenCount>) | undefined;
}

interface TokenCount {
  readonly tokens: number;
  /** How many a text may have. */
  readonly max_tokens: number;
}

const SETTING = 'openai.vector_stores.embedding_deployment';

/** The models of an application, and what of them makes the vectors of stores. */
export interface EmbeddingChoice {
  readonly models: ModelDirectory;
  /** The setting; null for the only deployment that can. */
  readonly embeddingDeployment: string | null;
}

/**
 * Returns the model that the setting names, or else that of the only deployment for embeddings. It is the same for all
 * keys, because stores get new vectors when it changes. Throws `NoEmbeddingModel`, which says what to configure, also
 * if the model is none of `allowed`.
 * @param allowed the deployments that the key of the request allows; null for all
 */
export function embeddingModel(
  { models, embeddingDeployment: configured }: EmbeddingChoice,
  allowed: ReadonlySet<string> | null,
): EmbeddingModel {
  const found = configured === null ? { model: onlyOne(models), adapter: undefined } : named(models, configured);
  const { model, adapter } = found;
  if (allowed?.has(model.name) === false)
    throw fail('NoEmbeddingModel', 'vector stores need an embedding model that this key may not use');
  const given = adapter === undefined ? {} : { adapter };
  const typed = (type: InputType) => (model.takesInputTypes ? { input_type: type } : {});
  const call = (method: string, args: Record<string, unknown>, context: CallOptions): Promise<unknown> =>
    models.call(model.name, method, args, context);
  return {
    name: [model.modelId ?? model.name, ...(adapter === undefined ? [] : [adapter])].join(':'),
    embed: async (sentences, type, context) => {
      const args = { ...given, ...typed(type), sentences, truncate: 'end' };
      return ((await call('embed_batch', args, context)) as EmbeddedBatch).embedding;
    },
    count: model.methods.has('count_tokens')
      ? (text, context) => call('count_tokens', { ...typed('document'), text }, context) as Promise<TokenCount>
      : undefined,
  };
}

function onlyOne(models: ModelDirectory) {
  const able = models.list().filter(({ methods }) => capabilitiesOf(methods).includes('embeddings'));
  const [only, ...others] = able;
  if (only && others.length === 0) return only;
  throw fail(
    'NoEmbeddingModel',
    only
      ? `vector stores need to know which of ${able.length} deployments makes their vectors: set ${SETTING}`
      : `vector stores need ${CAPABILITIES.embeddings.deploy}: add one to the deployments, or set ${SETTING}`,
  );
}

function named(models: ModelDirectory, name: string) {
  try {
    return resolveModel(models, name, 'embeddings');
  } catch {
    throw fail('NoEmbeddingModel', `${SETTING} names ${name}, which is no deployment for embeddings`);
  }
}
