/** What a model of the hub is for. */
type Use = 'text' | 'images' | 'audio' | 'images, audio' | 'embeddings' | 'reranking';

/**
 * A model that a repository of the hub has in GGUF form. Its files, their lengths and digests, and its licence are
 * those that the hub tells when it is pulled.
 */
export interface HubModel {
  readonly name: string;
  readonly repo: string;
  readonly use: Use;
}

const models = (use: Use, repos: Readonly<Record<string, string>>): HubModel[] =>
  Object.entries(repos).map(([name, repo]) => ({ name, repo, use }));

/** Names for current models, each of a size that one machine can run. */
export const hubModels: readonly HubModel[] = [
  ...models('text', {
    'qwen3-0.6b': 'Qwen/Qwen3-0.6B-GGUF',
    'qwen3-1.7b': 'Qwen/Qwen3-1.7B-GGUF',
    'qwen3-4b': 'Qwen/Qwen3-4B-GGUF',
    'qwen3-8b': 'Qwen/Qwen3-8B-GGUF',
    'gemma-3-1b': 'ggml-org/gemma-3-1b-it-GGUF',
    'gpt-oss-20b': 'ggml-org/gpt-oss-20b-GGUF',
    'gpt-oss-120b': 'ggml-org/gpt-oss-120b-GGUF',
    'smollm3-3b': 'ggml-org/SmolLM3-3B-GGUF',
  }),
  ...models('images', {
    'qwen3.5-4b': 'unsloth/Qwen3.5-4B-GGUF',
    'qwen3.5-9b': 'unsloth/Qwen3.5-9B-GGUF',
    'gemma-3-4b': 'ggml-org/gemma-3-4b-it-GGUF',
    'gemma-3-12b': 'ggml-org/gemma-3-12b-it-GGUF',
    'gemma-3-27b': 'ggml-org/gemma-3-27b-it-GGUF',
    'gemma-4-26b-a4b': 'ggml-org/gemma-4-26B-A4B-it-GGUF',
    'qwen3-vl-2b': 'Qwen/Qwen3-VL-2B-Instruct-GGUF',
    'qwen3-vl-4b': 'Qwen/Qwen3-VL-4B-Instruct-GGUF',
    'qwen3-vl-8b': 'Qwen/Qwen3-VL-8B-Instruct-GGUF',
    'smolvlm-500m': 'ggml-org/SmolVLM-500M-Instruct-GGUF',
    'smolvlm2-2.2b': 'ggml-org/SmolVLM2-2.2B-Instruct-GGUF',
  }),
  ...models('audio', {
    'ultravox-0.5-1b': 'ggml-org/ultravox-v0_5-llama-3_2-1b-GGUF',
    'voxtral-mini-3b': 'ggml-org/Voxtral-Mini-3B-2507-GGUF',
  }),
  ...models('images, audio', {
    'gemma-4-e2b': 'ggml-org/gemma-4-E2B-it-GGUF',
    'gemma-4-e4b': 'ggml-org/gemma-4-E4B-it-GGUF',
    'qwen2.5-omni-3b': 'ggml-org/Qwen2.5-Omni-3B-GGUF',
  }),
  ...models('embeddings', {
    'qwen3-embedding-0.6b': 'Qwen/Qwen3-Embedding-0.6B-GGUF',
    'qwen3-embedding-4b': 'Qwen/Qwen3-Embedding-4B-GGUF',
    'embeddinggemma-300m': 'ggml-org/embeddinggemma-300M-GGUF',
    'bge-m3': 'gpustack/bge-m3-GGUF',
  }),
  ...models('reranking', {
    'qwen3-reranker-0.6b': 'ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF',
    'bge-reranker-v2-m3': 'gpustack/bge-reranker-v2-m3-GGUF',
  }),
];

/** Returns the model of the hub with this name. Ignores case. */
export const findHubModel = (id: string): HubModel | undefined =>
  hubModels.find(({ name }) => name === id.toLowerCase());

/** Returns the model of the hub that this repository has. */
export const hubModelOf = (repo: string): HubModel | undefined => hubModels.find((model) => model.repo === repo);
