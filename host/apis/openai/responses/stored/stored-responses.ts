import { responseRow } from './response-row.ts';
import type { Logger } from '../../../../base/core/log/logger.ts';
import type { Caller, ForCallers } from '../../../../base/core/request-context.ts';
import type { ModelResponse } from '../response-answer.ts';
import type { Item } from '../items.ts';
import { pruneResponses, Pruner, type ResponseRecord, type Storage } from '../../../../data/storage/index.ts';

/** A response in a chain of responses, each of which continues the next one. */
export interface ChainLink {
  readonly id: string;
  readonly previousId: string | null;
  /** Bytes of the response and its input as JSON. */
  readonly bytes: number;
  /** The status of a response that is or was made in the background. */
  readonly status: ModelResponse['status'] | null;
}

/** The stored responses of a user. */
export interface UserResponses {
  /** Whether the operator lets responses be stored. */
  readonly isStoring: boolean;
  /** Stores a response with the items that it was given. Throws `StorageFull` for one that is too large. */
  save(response: ModelResponse, input: readonly Item[]): Promise<void>;
  find(id: string): Promise<ModelResponse | undefined>;
  /** Returns the items that a response was given, in order; undefined if there is no such response. */
  findInput(id: string): Promise<readonly Item[] | undefined>;
  /** Returns the newest item with this id, of any response. */
  findItem(id: string): Promise<Item | undefined>;
  /** Returns a response and those that it continues, the newest first. The last ones may have been removed. */
  chain(id: string): Promise<readonly ChainLink[]>;
  /** Returns the items of a response and of those that it continues, the oldest first. */
  chainItems(id: string): Promise<readonly Item[]>;
  /** Removes a response, and ends its task if it has not ended. Returns whether it existed. */
  delete(id: string): Promise<boolean>;
}

export interface StoredResponsesOptions {
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
export class StoredResponses implements ForCallers<UserResponses> {
  readonly #storage: Storage;
  readonly #isStoring: boolean;
  readonly #maxBytes: number | undefined;
  readonly #pruner: Pruner;

  constructor({ storage, config, log }: StoredResponsesOptions) {
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

  as({ userId, traceparent }: Caller): UserResponses {
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
