import { delay } from '../../../base/core/abort.ts';
import { boundedEach } from '../../../base/core/async/bounded-each.ts';
import { cancelledError, fail } from '../../../base/core/errors.ts';
import type { JsonLimits } from '../../../base/core/json/read-json.ts';
import type { UsageMeter, UsageOutcome } from '../../../base/core/usage/usage-meter.ts';
import type { StoredFiles } from '../../../data/files/index.ts';
import type { BatchScope } from './batch-operations.ts';
import { NO_USAGE } from './batch-usage.ts';
import {
  type BatchAnswer,
  type BatchEnd,
  type BatchFile,
  type BatchRecord,
  type FileRecord,
  type Storage,
  type TracedStorage,
  whileUnavailable,
} from '../../../data/storage/index.ts';
import type { LargeParts } from '../../http/request/request-body.ts';
import { answerLine } from './answer-line.ts';
import { type BatchFormat, type EndReason, formatOf } from './batch-format.ts';
import { type BatchLine, readLine } from './batch-line.ts';
import { checkInput, type InputRules } from './check-input.ts';
import { jsonLines, type JsonLine } from './json-lines.ts';

/** What attempts at batches need of the host. */
export interface BatchAttemptOptions {
  readonly storage: Storage;
  readonly files: StoredFiles;
  /** What one request may be. */
  readonly limits: JsonLimits;
  /** The media that it may have in addition. */
  readonly large: LargeParts;
  readonly maxRequests: number;
  /** Requests of one batch that run at the same time. */
  readonly concurrency: number;
  /** The APIs that have batches. */
  readonly formats: readonly BatchFormat[];
}

/** Whose batch it is, and what its requests can use. */
export interface BatchOwner {
  readonly userId: string | null;
  /** Measures each request. Undefined where usage is not recorded. */
  readonly meter: UsageMeter | undefined;
  readonly scope: BatchScope;
  /** Bytes of the input. */
  /** The place of the attempt in its trace. */
  readonly traceparent: string | undefined;
}

/** Requests of batches go after other requests of the same user. */
const PRIORITY = -100;
/** How often an attempt looks whether its batch is to be cancelled or has expired. */
const LOOK_EVERY_MS = 1000;
/** Answers that share a transaction where nothing is computed. */
const WRITES_AT_ONCE = 64;

const CANCELLED = cancelledError('the batch was cancelled');
const EXPIRED = fail('TimeoutError', 'the completion window of the batch is over');
const LOST = cancelledError('another attempt at the batch has begun');

/** One attempt at a batch: continues where the attempt before it ended. */
export class BatchAttempt {
  readonly #options: BatchAttemptOptions;
  /** Its work has spans. Answers and looks have none, because a batch has up to tens of thousands of them. */
  readonly #traced: TracedStorage;
  readonly #batch: BatchRecord;
  readonly #owner: BatchOwner;
  readonly #format: BatchFormat;
  readonly #onProgress: (fraction: number) => void;
  /** Aborts with the reason why no further request runs. */
  readonly #ending = new AbortController();

  constructor(
    options: BatchAttemptOptions,
    batch: BatchRecord,
    owner: BatchOwner,
    onProgress: (fraction: number) => void,
  ) {
    this.#options = options;
    this.#traced = options.storage.inTrace(owner.traceparent);
    this.#batch = batch;
    this.#owner = owner;
    this.#format = formatOf(options.formats, batch.endpoint);
    this.#onProgress = onProgress;
  }

  /** Rejects when the signal aborts. Requests that have an answer by then keep it. */
  async run(signal: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const looking = this.#look(ended.signal);
    const both = AbortSignal.any([signal, this.#ending.signal]);
    try {
      const errors = await this.#answer(both).catch((error: unknown) => {
        signal.throwIfAborted();
        if (this.#ending.signal.aborted) return undefined;
        throw error;
      });
      if (errors !== undefined) await this.#finish({ status: 'failed', errors });
      else await this.#close(signal);
    } finally {
      ended.abort();
      await looking;
    }
  }

  /** Checks the input and answers its requests. Returns the errors of an input that is wrong, as JSON. */
  async #answer(signal: AbortSignal): Promise<string | undefined> {
    await this.#lookNow();
    signal.throwIfAborted();
    if (this.#batch.status === 'validating') {
      const rules = this.#rules;
      const mostBytes = rules.limits ? rules.limits.max_json_bytes + (rules.large?.bytes ?? 0) : undefined;
      const checked = await checkInput(await this.#lines(mostBytes), rules, signal);
      if (checked.errors.length > 0) return JSON.stringify(checked.errors);
      await this.#traced.write(({ batchRuns }) => batchRuns.start(this.#batch, checked.total, checked.model));
      await this.#answerLines(checked.total, signal);
    } else await this.#answerLines(this.#batch.total, signal);
    return undefined;
  }

  async #answerLines(total: number, signal: AbortSignal): Promise<void> {
    const { concurrency, storage } = this.#options;
    const { endpoint } = this.#batch;
    const how = { format: this.#format, endpoint };
    const { userId, scope, meter } = this.#owner;
    const deadlineAt = performance.now() + this.#batch.expires_at - (await storage.now());
    let answered = this.#batch.completed + this.#batch.failed;
    await this.#eachUnanswered(concurrency, signal, async (line, ending) => {
      const context = { userId, priority: PRIORITY, deadlineAt, signal: ending };
      const answer = await metered(meter, this.#batch, line, (part) =>
        answerLine(line, { ...how, scope, context: { ...context, meter: part } }),
      );
      await this.#store(answer, ending);
      answered += 1;
      this.#onProgress(answered / total);
    });
  }

  /** Runs work for each request without an answer. */
  async #eachUnanswered(
    limit: number,
    signal: AbortSignal,
    work: (line: BatchLine, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const answered = await this.#traced.read(({ batchRuns }) => batchRuns.answeredLines(this.#batch.id));
    const { endpoint } = this.#batch;
    await boundedEach(await this.#lines(), limit, signal, async (line, ending) => {
      if (!answered.has(line.number)) await work(readLine(line, { endpoint }), ending);
    });
  }

  /** Writes the files of a batch whose requests have answers, or get none any more, and ends the batch. */
  async #close(signal: AbortSignal): Promise<void> {
    const { status: before } = await this.#current();
    const isExpired = this.#ending.signal.reason === EXPIRED && before !== 'finalizing';
    if (before === 'cancelling') await this.#tellUnanswered('cancelled', signal);
    else if (isExpired && before === 'in_progress') await this.#tellUnanswered('expired', signal);
    await this.#traced.write(({ batchRuns }) => batchRuns.finalize(this.#batch));
    const batch = await this.#current();
    const output = await this.#write('output');
    const error = await this.#write('error');
    const status = batch.status === 'cancelling' ? 'cancelled' : isExpired ? 'expired' : 'completed';
    await this.#finish({ status }, output, error);
  }

  /** Stores what the API tells about requests without an answer. */
  async #tellUnanswered(reason: EndReason, signal: AbortSignal): Promise<void> {
    const tell = this.#format.unanswered[reason];
    if (tell)
      await this.#eachUnanswered(WRITES_AT_ONCE, signal, (line, ending) =>
        this.#store({ line: line.line, ...tell(line), usage: NO_USAGE }, ending),
      );
  }

  /** Returns the batch as it is now. Throws if another attempt has begun. */
  async #current(): Promise<BatchRecord> {
    const batch = await this.#traced.read(({ batchRuns }) => batchRuns.read(this.#batch));
    if (!batch) throw LOST;
    return batch;
  }

  /** Writes a file of the batch, unless it has no lines. Its row is stored when the batch ends. */
  async #write(file: BatchFile): Promise<FileRecord | undefined> {
    const { id, output_expires_after: expiresAfterS } = this.#batch;
    const { value: first } = await this.#answers(file).next();
    if (first === undefined) return undefined;
    return this.#options.files.write(this.#answers(file), {
      filename: `${id}_${file}.jsonl`,
      purpose: 'batch_output',
      expiresAfterS: expiresAfterS ?? undefined,
    });
  }

  async *#answers(file: BatchFile): AsyncGenerator<string, void> {
    const { storage } = this.#options;
    for (let after: number | undefined = 0; after !== undefined;) {
      const last: number = after;
      const page = await storage.read(({ batchRuns }) => batchRuns.answers(this.#batch.id, file, last));
      for (const { answer } of page) yield `${answer}\n`;
      after = page.at(-1)?.line;
    }
  }

  async #finish(end: BatchEnd, output?: FileRecord, error?: FileRecord): Promise<void> {
    await this.#traced.write(async (repositories) => {
      const files = repositories.filesOf(this.#owner.userId);
      for (const file of [output, error]) if (file) await files.insert(file); // also over the limit of the user
      const isOurs = await repositories.batchRuns.finish(this.#batch, {
        ...end,
        outputFileId: output?.id,
        errorFileId: error?.id,
      });
      if (!isOurs) throw LOST; // no file is stored then
    });
  }

  /** Stores an answer, also after the database was away. */
  async #store(answer: BatchAnswer, signal: AbortSignal): Promise<void> {
    const { storage } = this.#options;
    const isStored = await whileUnavailable(
      () => storage.write(({ batchRuns }) => batchRuns.answer(this.#batch, answer)),
      signal,
    );
    if (!isStored) throw LOST;
  }

  /** Returns the lines of the input. Default: their number of bytes has no limit, as they were checked before. */
  async #lines(mostBytes = Infinity): Promise<AsyncGenerator<JsonLine, void>> {
    const file = await this.#options.files.open(this.#batch.input_file_id);
    return jsonLines(file, mostBytes);
  }

  get #rules(): InputRules {
    const { limits, large, maxRequests } = this.#options;
    const { models } = this.#owner.scope;
    const { endpoint } = this.#batch;
    const { capability } = this.#format.operations[endpoint]!;
    return { endpoint, maxRequests, models, capability, ...(!this.#format.isInputChecked && { limits, large }) };
  }

  /** Looks until the attempt ends. While the database is away, the batch goes on. */
  async #look(ended: AbortSignal): Promise<void> {
    while (!ended.aborted && !this.#ending.signal.aborted) {
      await delay(LOOK_EVERY_MS, ended).catch(() => {});
      if (!ended.aborted) await this.#lookNow().catch(() => {});
    }
  }

  async #lookNow(): Promise<void> {
    const { storage } = this.#options;
    const batch = await storage.read(({ batchRuns }) => batchRuns.read(this.#batch));
    if (batch?.status === 'cancelling') this.#ending.abort(CANCELLED);
    else if (!batch) this.#ending.abort(LOST);
    else if ((await storage.now()) >= batch.expires_at) this.#ending.abort(EXPIRED);
  }
}

/** Answers a request of a batch with a meter of its own. Another attempt at it has the same id. */
async function metered(
  meter: UsageMeter | undefined,
  { id, endpoint }: Pick<BatchRecord, 'id' | 'endpoint'>,
  { line }: BatchLine,
  answer: (part: UsageMeter | undefined) => Promise<BatchAnswer>,
): Promise<BatchAnswer> {
  const part = meter?.part({ id: `batch ${id} ${line}`, requestId: `${id}/${line}`, route: endpoint });
  let outcome: UsageOutcome = 'cancelled';
  try {
    const given = await answer(part);
    outcome = given.outcome === 'completed' ? 'ok' : 'failed';
    return given;
  } finally {
    part?.end(outcome);
  }
}
