import * as z from 'zod';
import { ChatDialog, ChatOutput, SamplingParams, TextChunk } from '../schemas/index.ts';
import type { DeploymentDefinition } from './deployment-definition.ts';
import { llamaMemory } from './memory-need.ts';
import { pullModel } from './pull-model.ts';

const ModelKwargs = z.strictObject({
  n_ctx: z.int().min(0).max(16_777_216).default(8192).describe('Tokens that one dialog can hold, answer included; 0: what the model was trained with.'),
  n_seq_max: z.int().min(1).max(64).default(4).describe('Answers made at the same time.'),
  n_threads: z.int().min(1).max(256).optional().describe('CPU threads. Default: half of the cores, 8 at most.'),
  n_gpu_layers: z.int().min(-1).default(-1).describe('Layers on the GPU, where there is one; -1 is all.'),
  n_prefill: z.int().min(1).max(8192).default(256).describe('Prompt tokens read in one step, so that a long prompt does not hold up running answers.'),
  kv_type: z.enum(['f16', 'q8_0']).default('f16').describe('Form of the context memory; q8_0 takes half the room.'),
  chat_template: z.string().min(1).optional().describe("Jinja template in place of the model's own."),
});

export const LlamaTextGenerationConfig = z.strictObject({
  model_id: z
    .string()
    .min(1)
    .default('qwen2.5-coder-0.5b-instruct')
    .describe('A catalogue id, `owner/repo` or `owner/repo/file.gguf` of the hub, or the path of a GGUF file.'),
  model_kwargs: ModelKwargs.prefault({}).describe('How the model is loaded.'),
  default_sampling_params: z.prefault(SamplingParams, {}).describe('Sampling where a request says nothing. Default: greedy, 256 tokens at most.'),
});

const sampling = z.optional(z.nullable(SamplingParams));
const prefix = z.optional(z.nullable(z.string().describe('Begins the answer, and is part of it.')));
const chat = z.strictObject({ dialog: ChatDialog, sampling_params: sampling, assistant_prefix: prefix });
const generate = z.strictObject({ prompt: z.string(), sampling_params: sampling });
const countTokens = z
  .strictObject({ dialog: z.optional(ChatDialog), text: z.string().optional() })
  .refine(({ dialog, text }) => (dialog === undefined) !== (text === undefined), "Exactly one of 'dialog' and 'text' must be provided.");

/** Characters that say which replica may have seen the beginning of a prompt: system prompts are longer than openings like "You are". */
const AFFINITY_CHARACTERS = 512;

function promptBeginning(_method: string, { prompt, dialog }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof prompt === 'string') return prompt.slice(0, AFFINITY_CHARACTERS);
  if (dialog === undefined) return undefined;
  const { messages } = dialog as ChatDialog;
  return messages
    .map(({ role, content }) => `${role}: ${content}`)
    .join('\n')
    .slice(0, AFFINITY_CHARACTERS);
}

/** Text generation with llama.cpp. */
export const LlamaTextGenerationDeployment: DeploymentDefinition<typeof LlamaTextGenerationConfig> = {
  name: 'LlamaTextGenerationDeployment',
  configSchema: LlamaTextGenerationConfig,
  maxOngoingRequests: 16,
  methods: {
    chat: { description: 'Answers a dialog.', input: chat, output: ChatOutput, streaming: false },
    chat_stream: { description: 'Answers a dialog, piece by piece.', input: chat, output: TextChunk, streaming: true },
    generate: { description: 'Continues a text.', input: generate, output: TextChunk, streaming: false },
    generate_stream: { description: 'Continues a text, piece by piece.', input: generate, output: TextChunk, streaming: true },
    count_tokens: {
      description: 'Counts the tokens of a text, or of a dialog in its template.',
      input: countTokens,
      output: z.strictObject({ tokens: z.int(), max_tokens: z.int() }),
      streaming: false,
    },
  },
  async prepare(config, context) {
    const { model_id: id, model_kwargs: kwargs } = config;
    return {
      model_path: await pullModel(id, context),
      model_name: id,
      n_ctx: kwargs.n_ctx,
      n_seq_max: kwargs.n_seq_max,
      n_threads: kwargs.n_threads ?? context.threads,
      n_gpu_layers: context.numGpus === 0 ? 0 : kwargs.n_gpu_layers,
      n_prefill: kwargs.n_prefill,
      kv_type: kwargs.kv_type,
      chat_template: kwargs.chat_template,
      default_sampling_params: config.default_sampling_params,
    };
  },
  memory: (spec, { gpu }) =>
    llamaMemory(String(spec['model_path']), {
      contextTokens: Number(spec['n_ctx']),
      sequences: Number(spec['n_seq_max']),
      kvType: spec['kv_type'] === 'q8_0' ? 'q8_0' : 'f16',
      gpuLayers: gpu ? Number(spec['n_gpu_layers']) : -1,
    }),
  affinity: promptBeginning,
  implementation: new URL('../engines/llama.js', import.meta.url),
};
