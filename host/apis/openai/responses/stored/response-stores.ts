import { responseRow } from './response-row.ts';
import type { Logger } from '../../../../base/core/log/logger.ts';
import type { Caller, ForCallers } from '../../../../base/core/request-context.ts';
import type { ModelResponse } from '../response-answer.ts';
import type { ResponseStore } from './response-store.ts';
import { pruneResponses, Pruner, type ResponseRecord, type Storage } from '../../../../data/storage/index.ts';

export interface ResponseStoresOptions {
  readonly storage: Storage;
  /** The settings `openai.responses`. Times are in seconds; 0 bytes are no limit. */
  readonly config: {
    readonly store: boolean;
    readonly retention: number;
    readonly maximum_stored_bytes_per_user: number;
  };
  readonly log: Logger;
}

/** The stored responses of OpenAI's API, which are removed after a time. */
export class ResponseStores implements ForCallers<ResponseStore> {
  readonly #storage: Storage;
  readonly #isStoring: boolean;
  readonly #maxBytes: number | undefined;
  readonly #pruner: Pruner;

  constructor({ storage, config, log }: ResponseStoresOptions) {
    this.#storage = storage;
    this.#isStoring = config.store;
    this.#maxBytes = config.maximum_stored_bytes_per_user || undefined;
    this.#pruner = new Pruner({
      storage,
      log,
      what: 'responses',
      retentionMs: config.retention * 1000,
      prune: ({ connection }, before, limit) => pruneResponses(connection, before, limit),
    });
  }

  /** Begins to remove old responses. The first stored response does this, too. May be called twice. */
  start(): void {
    this.#pruner.start();
  }

  /** May be called twice. */
  stop(): Promise<void> {
    return this.#pruner.stop();
  }

  as({ userId, traceparent }: Caller): ResponseStore {
    const storage = this.#storage.inTrace(traceparent);
    return {
      isStoring: this.#isStoring,
      save: async (response, input) => {
        const row = responseRow(response, input);
        await storage.write((repositories) => repositories.responsesOf(userId).save(row, this.#maxBytes));
        this.start();
      },
      find: async (id) => {
        const found = await storage.read((repositories) => repositories.responsesOf(userId).read(id));
        return found && responseOf(found);
      },
      findInput: async (id) => {
        const found = await storage.read((repositories) => repositories.responsesOf(userId).input(id));
        return found?.map(parsed);
      },
      findItem: async (id) => {
        const found = await storage.read((repositories) => repositories.responsesOf(userId).findItem(id));
        return found === undefined ? undefined : parsed(found);
      },
      chain: (id) => storage.read((repositories) => repositories.responsesOf(userId).chain(id)),
      chainItems: async (id) => {
        const items = await storage.read((repositories) => repositories.responsesOf(userId).chainItems(id));
        return items.map(parsed);
      },
      delete: (id) =>
        storage.write(async (repositories) => {
          const task = await repositories.responseRunsOf(userId).taskOf(id);
          if (task !== undefined) await repositories.tasks.cancel(task, userId);
          return repositories.responsesOf(userId).delete(id);
        }),
    };
  }
}

const parsed = (json: string) => JSON.parse(json);

function responseOf({ body, output, status }: ResponseRecord): ModelResponse {
  const response: ModelResponse = { ...JSON.parse(body), output: output.map(parsed), ...(status && { status }) };
  return response.status === 'failed' ? { ...response, error: response.error ?? ABANDONED } : response;
}

/** The error of a response whose task ended without it. */
const ABANDONED = { code: 'server_error', message: 'the task that made the response has failed or was deleted' };
