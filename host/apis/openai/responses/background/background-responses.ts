import { fail } from '../../../../base/core/errors.ts';
import type { Caller, ForCallers } from '../../../../base/core/request-context.ts';
import type { ServedEndpoint } from '../../../../endpoints/registry/index.ts';
import { invalidValue } from '../../fields.ts';
import type { Item } from '../items.ts';
import type { ModelResponse } from '../response-answer.ts';
import type { UserResponses } from '../stored/stored-responses.ts';
import type { StoredRequest } from '../response-run.ts';
import { responseChanged, type Storage, StoredWatchers } from '../../../../data/storage/index.ts';
import type { TaskQueue } from '../../../../data/tasks/index.ts';
import { type BackgroundTask, FIRST_EVENTS, MAX_ATTEMPTS } from './background-task.ts';
import { responseRow } from '../stored/response-row.ts';

export interface BackgroundResponsesOptions {
  readonly storage: Storage;
  /** The queue whose tasks make responses. Undefined if it is off. */
  readonly tasks: TaskQueue | undefined;
  /** The work of their tasks. */
  readonly work: ServedEndpoint;
  readonly responses: ForCallers<UserResponses>;
  /** Most bytes of responses that a user keeps; undefined is no limit. */
  readonly maxStoredBytes: number | undefined;
  /** Called when a response was stored. */
  readonly onStored: () => void;
}

export interface ResponseOrder {
  /** The response before its answer has begun. */
  readonly response: ModelResponse;
  readonly input: readonly Item[];
  readonly request: StoredRequest;
  /** Whether the events of the response are stored, so that {@link UserBackground.watch} gives them. */
  readonly isStreamed: boolean;
  /** The deployments that the request may use; null for all. */
  readonly deployments: ReadonlySet<string> | null;
}

/** An event of a response. */
export interface StoredEvent {
  readonly type: string;
  readonly sequence_number: number;
}

/** The responses of a user that tasks make. Responses of other users are not found. */
export interface UserBackground {
  /**
   * Stores a response that a task makes. Throws `RuntimeError` when the task queue is off, `StorageFull`, and the
   * errors of `UserTasks.enqueue`.
   */
  create(order: ResponseOrder): Promise<void>;
  /**
   * Ends a response, and returns it. Does nothing for one that has ended; undefined for one that does not exist. Throws
   * `InvalidParameter` for a response that no task makes.
   */
  cancel(id: string): Promise<ModelResponse | undefined>;
  /**
   * Yields the events of a response after the event `after` (-1 for all), until it has ended. Throws `InvalidParameter`
   * for a response whose events are not stored, and `TooManyWatchers`, before the first event.
   */
  watch(id: string, after: number, signal: AbortSignal): Promise<AsyncGenerator<StoredEvent, void>>;
}

/** Responses that tasks make. Their status and their answer are those of the stored response. */
export class BackgroundResponses implements ForCallers<UserBackground> {
  readonly #options: BackgroundResponsesOptions;
  readonly #events: StoredWatchers;

  constructor(options: BackgroundResponsesOptions) {
    this.#options = options;
    this.#events = new StoredWatchers({
      storage: options.storage,
      readPositions: (repositories, ids) => repositories.responseRunsOf(null).positions(ids),
      messageOf: responseChanged,
    });
  }

  as(caller: Caller): UserBackground {
    return {
      create: (order) => this.#create(caller, order),
      cancel: (id) => this.#cancel(caller, id),
      watch: (id, after, signal) => this.#watch(caller, id, after, signal),
    };
  }

  async #create(caller: Caller, order: ResponseOrder): Promise<void> {
    const { tasks, work, maxStoredBytes, onStored } = this.#options;
    if (!tasks) throw fail('RuntimeError', 'Responses in the background are tasks, but the task queue is off.');
    const { response, input, request, isStreamed, deployments } = order;
    const task: BackgroundTask = { response_id: response.id, deployments: deployments && [...deployments] };
    await tasks.as(caller).enqueue(work, {
      input: task,
      files: new Map(),
      maxAttempts: MAX_ATTEMPTS,
      alongside: (repositories, taskId) =>
        repositories.responseRunsOf(caller.userId).insert(
          responseRow(response, input),
          {
            taskId,
            request: JSON.stringify({ ...request, input: undefined }),
            events: isStreamed ? firstEvents(response) : [],
          },
          maxStoredBytes,
        ),
    });
    onStored();
  }

  async #cancel(caller: Caller, id: string): Promise<ModelResponse | undefined> {
    const { storage, responses } = this.#options;
    const { userId, traceparent } = caller;
    const stored = responses.as(caller);
    const response = await stored.find(id);
    if (response?.background === false)
      throw invalidValue('response_id', 'only a response that is made in the background can be cancelled');
    await storage.inTrace(traceparent).write(async (repositories) => {
      const task = await repositories.responseRunsOf(userId).cancel(id);
      if (task !== undefined) await repositories.tasks.cancel(task, userId);
    });
    return stored.find(id);
  }

  async #watch(
    { userId, traceparent }: Caller,
    id: string,
    after: number,
    signal: AbortSignal,
  ): Promise<AsyncGenerator<StoredEvent, void>> {
    const { storage, tasks } = this.#options;
    const state = await storage
      .inTrace(traceparent)
      .read((repositories) => repositories.responseRunsOf(userId).state(id));
    if (!state?.eventCount)
      throw invalidValue('stream', 'only a response that was created with background and stream has stored events');
    const release = tasks?.as({ userId }).countWatcher();
    return this.#eventsOf(userId, id, after, signal, release);
  }

  async *#eventsOf(
    userId: string | null,
    id: string,
    after: number,
    signal: AbortSignal,
    release: (() => void) | undefined,
  ): AsyncGenerator<StoredEvent, void> {
    let last = after;
    let eventCount = 0;
    try {
      yield* this.#events.watch({
        id,
        signal,
        read: async (repositories) => {
          const runs = repositories.responseRunsOf(userId);
          // The state is read first, so that all events of a response that has ended are read.
          const state = await runs.state(id);
          const pages = state ? await runs.events(id, last + 1) : [];
          const values = pages.flatMap(({ events }) => JSON.parse(events) as StoredEvent[]);
          const fresh = values.filter(({ sequence_number: number }) => number > last);
          last = fresh.at(-1)?.sequence_number ?? last;
          eventCount = state?.eventCount ?? 0;
          const hasEnded = !state || !['queued', 'in_progress'].includes(state.status);
          const hasMore = fresh.length > 0 && last < eventCount - 1;
          return { values: fresh, hasMore, hasEnded, position: eventCount };
        },
      });
      if (signal.aborted || last >= eventCount) return;
      const response = await this.#options.responses.as({ userId }).find(id);
      if (response) yield { type: `response.${response.status}`, sequence_number: eventCount, response } as StoredEvent;
    } finally {
      release?.();
    }
  }
}

function firstEvents(response: ModelResponse): object[] {
  return FIRST_EVENTS.map((type, number) => ({ type, sequence_number: number, response }));
}
