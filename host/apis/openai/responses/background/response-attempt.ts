import { cancelledError, toErrorRecord } from '../../../../base/core/errors.ts';
import { type Dialogs, type StoredRequest, withStoredRequest } from '../response-run.ts';
import type { Item } from '../items.ts';
import type { ModelResponse } from '../response-answer.ts';
import { writeAnswer } from '../file-search/answer-rounds.ts';
import type { ResponseEvent } from '../response-event.ts';
import { ResponseWriter } from '../response-writer.ts';
import type { RunContext } from '../../run-context.ts';
import type { ModelDirectory } from '../../../../inference/deployments/index.ts';
import { type BegunRun, type TracedStorage, whileUnavailable } from '../../../../data/storage/index.ts';
import { AttemptReport, isUnserved } from '../../../../data/tasks/index.ts';
import { FIRST_EVENTS, MAX_ATTEMPTS } from './background-task.ts';
import { bodyOf, storedItems } from '../stored/response-row.ts';

/** The response that an attempt makes, and what its request can use. */
export interface AttemptScope {
  readonly userId: string | null;
  readonly response: ModelResponse;
  readonly input: readonly Item[];
  readonly models: ModelDirectory;
  readonly dialogs: Dialogs;
}

const LOST = cancelledError('the response was cancelled or removed, or another attempt at it has begun');

/** One attempt at a response. It begins from nothing, because half an answer cannot be continued. */
export class ResponseAttempt {
  readonly #storage: TracedStorage;
  readonly #maxStoredBytes: number | undefined;
  readonly #run: BegunRun;
  readonly #scope: AttemptScope;
  readonly #writer: ResponseWriter;
  /** Undefined for a response whose events are not stored. */
  readonly #report: AttemptReport | undefined;
  /** Aborts when events cannot be stored. */
  readonly #ending = new AbortController();
  #nextEvent: number;
  #eventBytes = 0;

  constructor(
    { storage, maxStoredBytes }: { readonly storage: TracedStorage; readonly maxStoredBytes: number | undefined },
    run: BegunRun,
    scope: AttemptScope,
  ) {
    this.#storage = storage;
    this.#maxStoredBytes = maxStoredBytes;
    this.#run = run;
    this.#scope = scope;
    this.#nextEvent = run.eventCount;
    this.#writer = new ResponseWriter(
      { ...scope.response, status: 'in_progress' },
      { firstNumber: run.eventCount, isCreated: run.eventCount === FIRST_EVENTS.length },
    );
    if (run.eventCount > 0)
      this.#report = new AttemptReport({
        write: ({ chunks }) => this.#store(chunks),
        onFailure: (error) => this.#ending.abort(error),
      });
  }

  /**
   * Stores the response when it has ended, also with an error that another attempt would repeat. Rejects when the
   * signal aborts before the time is up, and when the model is not available.
   */
  async run(context: RunContext): Promise<void> {
    const signal = AbortSignal.any([context.signal, this.#ending.signal]);
    try {
      await this.#answer({ ...context, signal });
    } catch (thrown) {
      this.#report?.drop();
      const reason: unknown = signal.aborted ? signal.reason : thrown;
      if (reason === LOST) return;
      const error = toErrorRecord(reason);
      if (context.signal.aborted && error.kind !== 'deadline-exceeded') throw reason;
      if (isUnserved(error) || (error.kind === 'unavailable' && this.#run.attempt < MAX_ATTEMPTS)) throw reason;
      const failed = this.#writer.fail(reason);
      await this.#add(failed.slice(0, -1));
    }
    await this.#finish(context.signal);
  }

  async #answer(context: RunContext): Promise<void> {
    const { models, input, dialogs } = this.#scope;
    const request = JSON.parse(this.#run.request) as StoredRequest;
    const send = (events: readonly ResponseEvent[]): Promise<void> => this.#add(events);
    const details = await withStoredRequest(models, request, input, dialogs, context, (turns, search, tried) =>
      writeAnswer(models, turns, search, this.#writer, tried, send),
    );
    await this.#add(this.#writer.close(details));
    await this.#report?.flush();
    context.signal.throwIfAborted();
  }

  async #add(events: readonly ResponseEvent[]): Promise<void> {
    if (!this.#report) return;
    for (const event of events) await this.#report.add(JSON.stringify(event));
  }

  async #store(events: readonly string[]): Promise<void> {
    const isOurs = await whileUnavailable(
      () =>
        this.#storage.write((repositories) =>
          repositories.responseRunsOf(this.#scope.userId).report(this.#run, this.#nextEvent, events),
        ),
      this.#ending.signal,
    );
    if (!isOurs) throw LOST;
    this.#nextEvent += events.length;
    for (const event of events) this.#eventBytes += Buffer.byteLength(event);
  }

  /** Stores the answer, unless the response has ended otherwise. */
  async #finish(signal: AbortSignal): Promise<void> {
    await this.#report?.flush().catch((error: unknown) => {
      if (error !== LOST) throw error;
    });
    const { response } = this.#writer;
    const answer = { body: bodyOf(response), output: storedItems(response.output), eventBytes: this.#eventBytes };
    await whileUnavailable(
      () =>
        this.#storage.write((repositories) =>
          repositories
            .responseRunsOf(this.#scope.userId)
            .finish(this.#run, response.status, answer, this.#maxStoredBytes),
        ),
      signal,
    );
  }
}
