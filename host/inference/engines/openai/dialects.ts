import { type AanaError, fail } from '../../../base/core/errors.ts';
import type { SamplingParams, StructuredOutputs } from '../../../base/schemas/index.ts';
import { likelyTopP } from '../sampling.ts';
import { structuredBody } from './structured.ts';

/** The servers whose extensions of OpenAI's API are known. `openai` has none. */
export type Dialect = 'openai' | 'vllm' | 'llama-server';

type Key = keyof SamplingParams;

/** Names of parameters that have another name, or do not exist, in OpenAI's API. */
type Names = { readonly [K in Key]?: string };

const OPENAI: Names = {
  temperature: 'temperature',
  top_p: 'top_p',
  max_tokens: 'max_tokens',
  presence_penalty: 'presence_penalty',
  frequency_penalty: 'frequency_penalty',
  logit_bias: 'logit_bias',
  seed: 'seed',
  stop: 'stop',
  n: 'n',
};

const NAMES: Readonly<Record<Dialect, Names>> = {
  openai: OPENAI,
  vllm: {
    ...OPENAI,
    top_k: 'top_k',
    min_p: 'min_p',
    repetition_penalty: 'repetition_penalty',
    min_tokens: 'min_tokens',
    ignore_eos: 'ignore_eos',
    stop_token_ids: 'stop_token_ids',
    bad_words: 'bad_words',
    structured_outputs: 'structured_outputs',
    logprobs: 'logprobs',
  },
  'llama-server': {
    ...OPENAI,
    top_k: 'top_k',
    min_p: 'min_p',
    typical_p: 'typical_p',
    repetition_penalty: 'repeat_penalty',
    dry_multiplier: 'dry_multiplier',
    dry_base: 'dry_base',
    dry_allowed_length: 'dry_allowed_length',
    dry_penalty_last_n: 'dry_penalty_last_n',
    dry_sequence_breakers: 'dry_sequence_breakers',
    xtc_probability: 'xtc_probability',
    xtc_threshold: 'xtc_threshold',
    mirostat: 'mirostat',
    mirostat_tau: 'mirostat_tau',
    mirostat_eta: 'mirostat_eta',
    ignore_eos: 'ignore_eos',
    structured_outputs: 'structured_outputs',
    logprobs: 'logprobs',
  },
};

/** Whether the server gives several answers to one request. llama-server does so in some versions only. */
export const takesN = (dialect: Dialect): boolean => dialect !== 'llama-server';

/** Values that change nothing. A server that does not know the parameter need not get them. */
const OFF: { readonly [K in Key]?: unknown } = {
  top_k: -1,
  min_p: 0,
  typical_p: 1,
  repetition_penalty: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  dry_multiplier: 0,
  xtc_probability: 0,
  mirostat: 0,
  min_tokens: 0,
  ignore_eos: false,
  n: 1,
  reproducible: false,
};

/** Parameters that mean nothing while another one is off. */
const DEPENDS: { readonly [K in Key]?: Key } = {
  dry_base: 'dry_multiplier',
  dry_allowed_length: 'dry_multiplier',
  dry_penalty_last_n: 'dry_multiplier',
  dry_sequence_breakers: 'dry_multiplier',
  xtc_threshold: 'xtc_probability',
  mirostat_tau: 'mirostat',
  mirostat_eta: 'mirostat',
};

/**
 * Parameters that are always sent, so that a model answers the same on every server: servers and models have other
 * defaults.
 */
const DEFAULTS: Readonly<Record<Dialect, SamplingParams>> = {
  openai: { temperature: 0, max_tokens: 256 },
  vllm: { temperature: 0, max_tokens: 256, top_p: 1, top_k: -1, min_p: 0, repetition_penalty: 1 },
  'llama-server': { temperature: 0, max_tokens: 256, top_p: 1, top_k: -1, min_p: 0, repetition_penalty: 1 },
};

/**
 * Returns the sampling parameters of a request as the server knows them; parameters of the request replace those of the
 * deployment. Throws `InvalidSamplingParams`, which names a parameter that the server cannot take.
 */
export function samplingBody(
  dialect: Dialect,
  deployment: SamplingParams,
  request: SamplingParams | null | undefined,
  { contextTokens, isChat = false }: { readonly contextTokens?: number | undefined; readonly isChat?: boolean } = {},
): Record<string, unknown> {
  const merged: Partial<Record<Key, unknown>> = { ...DEFAULTS[dialect] };
  for (const params of [deployment, request ?? {}])
    for (const [key, value] of Object.entries(params) as [Key, unknown][])
      if (value !== null && value !== undefined) merged[key] = value;
  if (typeof merged.top_p === 'number') merged.top_p = likelyTopP(merged.top_p);
  const isOff = (key: Key): boolean => merged[key] === undefined || isEqual(merged[key], OFF[key]);
  const names = NAMES[dialect];
  const body: Record<string, unknown> = {};
  const { structured_outputs: form, ...others } = merged;
  if (form !== undefined) Object.assign(body, formBody(dialect, form as StructuredOutputs));
  for (const [key, value] of Object.entries(others) as [Key, unknown][]) {
    const condition = DEPENDS[key];
    const name = names[key];
    if (condition !== undefined && isOff(condition)) continue;
    if (name === undefined && (isOff(key) || isEmpty(value))) continue;
    if (name === undefined) throw notTaken(dialect, key);
    if (key === 'n' && isOff(key)) continue;
    body[name] = value;
  }
  if (dialect === 'vllm') return forVllm(body, isChat);
  return dialect === 'llama-server' ? forLlamaServer(body, contextTokens ?? MANY_TOKENS) : body;
}

function formBody(dialect: Dialect, form: StructuredOutputs): Readonly<Record<string, unknown>> {
  const body = structuredBody(dialect, form);
  if (typeof body === 'string') throw notTaken(dialect, body);
  return body;
}

/** Length of a text for a server that does not tell the length of its context. */
const MANY_TOKENS = 32_768;

/**
 * Writes the log-probabilities as vLLM asks for them. Tokens are named by number, because their texts do not tell it.
 */
function forVllm({ logprobs, ...rest }: Readonly<Record<string, unknown>>, isChat: boolean): Record<string, unknown> {
  if (typeof logprobs !== 'number') return rest;
  const scores = isChat ? { logprobs: true, top_logprobs: logprobs } : { logprobs };
  return { ...rest, ...scores, return_tokens_as_token_ids: true };
}

/** Writes the values that llama-server expresses in another way. */
function forLlamaServer(body: Readonly<Record<string, unknown>>, contextTokens: number): Record<string, unknown> {
  const { top_k: topK, dry_penalty_last_n: dryTokens, logprobs, ...rest } = body;
  const isPenalised = ['repeat_penalty', 'presence_penalty', 'frequency_penalty'].some((name) => name in body);
  return {
    ...rest,
    top_k: topK === -1 ? 0 : topK,
    // Without these it looks only at the last 64 tokens, or at none.
    ...(isPenalised && { repeat_last_n: contextTokens }),
    ...('dry_multiplier' in body && { dry_penalty_last_n: (dryTokens ?? -1) === -1 ? contextTokens : dryTokens }),
    // The only name that its routes for texts and for dialogs both take. With 0 it would score no token at all.
    ...(typeof logprobs === 'number' && { n_probs: Math.max(1, logprobs) }),
  };
}

function isEqual(value: unknown, off: unknown): boolean {
  return off !== undefined && value === off;
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function notTaken(dialect: Dialect, key: string): AanaError {
  const servers = (Object.keys(NAMES) as Dialect[]).filter((one) => NAMES[one][key as Key] !== undefined);
  const others =
    servers.length > 0 ? `only ${servers.join(' and ')} can` : 'use a LlamaTextGenerationDeployment for it';
  return fail(
    'InvalidSamplingParams',
    `the server of this deployment (${dialect}) cannot take the sampling parameter ${key}; ${others}`,
  );
}
