import * as z from 'zod/mini';
import { AanaError, fail } from '../../../base/core/errors.ts';
import type { CallContext } from '../../rpc/index.ts';
import type { Dialect } from './dialects.ts';
import type { OpenAiServer } from './server.ts';

// The rule for promises takes `z.catch` for the method of a promise.
const { catch: orElse } = z;

/** The kind of a server, and its model. */
export interface FoundServer {
  readonly dialect: Dialect;
  readonly model: string;
  /** Tokens of a dialog with its answer, if the server tells. */
  readonly contextTokens: number | undefined;
}

const size = orElse(z.optional(z.nullable(z.int().check(z.minimum(1)))), undefined);

const ModelList = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      owned_by: orElse(z.optional(z.nullable(z.string())), undefined),
      max_model_len: size,
      meta: orElse(z.optional(z.nullable(z.object({ n_ctx: size }))), undefined),
    }),
  ),
});

const DIALECT_BY_OWNER: Readonly<Record<string, Dialect>> = { vllm: 'vllm', llamacpp: 'llama-server' };

/** Asks the server for its models. Throws when it lacks the model, or has several and the configuration names none. */
export async function findServer(
  server: OpenAiServer,
  { model, server: dialect }: { readonly model?: string; readonly server: Dialect | 'auto' },
): Promise<FoundServer> {
  const list = await modelsOf(server, model);
  const names = list.map(({ id }) => id);
  const [only] = list;
  if (model === undefined && (names.length !== 1 || !only))
    throw refused(`set user_config.model, because ${server.address} has ${shown(names)}`);
  const found = list.find(({ id }) => id === model);
  // llama-server has one model and takes any name for it.
  const isLlamaServer = only?.owned_by === 'llamacpp';
  if (model !== undefined && !found && list.length > 0 && !isLlamaServer)
    throw refused(`user_config.model: ${server.address} has no model ${model}; it has ${shown(names)}`);
  const facts = found ?? only;
  return {
    dialect: dialect === 'auto' ? (DIALECT_BY_OWNER[facts?.owned_by ?? ''] ?? 'openai') : dialect,
    model: model ?? only?.id ?? '',
    contextTokens: facts?.max_model_len ?? facts?.meta?.n_ctx ?? undefined,
  };
}

type Models = z.infer<typeof ModelList>['data'];

/** Returns no model for a server without a list, if the configuration names the model. */
async function modelsOf(server: OpenAiServer, model: string | undefined): Promise<Models> {
  let answer: unknown;
  try {
    answer = await server.json('GET', 'models', undefined, UNLIMITED);
  } catch (error) {
    if (model !== undefined && error instanceof AanaError && error.name === 'RemoteModelNotFound') return [];
    throw error;
  }
  const { success, data } = ModelList.safeParse(answer);
  if (success) return data.data;
  if (model !== undefined) return [];
  throw refused(`set user_config.model, because ${server.address} lists no models`);
}

/** Without a deadline of a caller; the server has a time limit. */
const UNLIMITED: CallContext = { signal: new AbortController().signal };

function refused(message: string): AanaError {
  return fail('ConfigError', message);
}

function shown(names: readonly string[]): string {
  if (names.length === 0) return 'no model';
  return names.slice(0, 10).join(', ') + (names.length > 10 ? ` and ${names.length - 10} more` : '');
}
