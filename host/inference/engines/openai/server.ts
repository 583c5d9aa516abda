import type { IncomingMessage } from 'node:http';
import { delay } from '../../../base/core/abort.ts';
import { AanaError, fail } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { remainingMs } from '../../../base/core/request-context.ts';
import { KeptConnections, type Network, readUpTo, withoutCredentials } from '../../../io/outgoing/index.ts';
import { InferenceException } from '../../replicas/process/inference-exception.ts';
import type { CallContext } from '../../rpc/index.ts';
import { parseJson, parseServerError } from './answer.ts';
import { AnswerFormatError } from './format-error.ts';
import { eventData } from './event-data.ts';
import { connectionFailure, requestFailure, RetryableFailure, statusFailure } from './failures.ts';

export interface OpenAiServerOptions {
  /** For example `http://127.0.0.1:8000/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the server gets the place of a call in its trace. */
  readonly propagatesTrace: boolean;
  readonly model: string;
  /** Time limit of an answer, with all tries. */
  readonly timeoutMs: number;
  /** Time without a byte after which an answer is given up. */
  readonly idleTimeoutMs: number;
  readonly maxRetries: number;
  readonly network: Network | undefined;
  readonly log: Logger;
}

interface Exchange {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly body?: Readonly<Record<string, unknown>>;
  /** The place of the call in its trace. */
  readonly traceparent: string | undefined;
  readonly signal: AbortSignal;
}

const MAX_JSON_BYTES = 16 * 2 ** 20;
const EVENT_LIMITS = { maxLineBytes: 4 * 2 ** 20, maxBytes: 256 * 2 ** 20 };
/** A longer wait is not worth it: the caller gets the error with the wait. */
const MAX_WAIT_MS = 30_000;
const FIRST_WAIT_MS = 500;

/**
 * A server with OpenAI's API. Connections are kept for later requests. When a request is cancelled, its connection is
 * closed, so that the server stops computing.
 */
export class OpenAiServer {
  readonly #options: OpenAiServerOptions;
  readonly #base: URL;
  readonly #connections: KeptConnections;

  constructor(options: OpenAiServerOptions) {
    this.#options = options;
    this.#base = new URL(options.baseUrl.replace(/\/*$/, '/'));
    const { network, idleTimeoutMs } = options;
    this.#connections = new KeptConnections({ url: this.#base, network, idleTimeoutMs });
  }

  get address(): string {
    return withoutCredentials(this.#base);
  }

  /**
   * Sends a request and yields the data of the events of its answer, up to `[DONE]`. Repeats the request after failures
   * that may pass, as long as no event has come.
   */
  async *events(
    path: string,
    body: Readonly<Record<string, unknown>>,
    context: CallContext,
  ): AsyncGenerator<string, void, undefined> {
    using limit = this.#limit(context);
    const { traceparent } = context;
    for (let attempt = 0; ; attempt += 1) {
      let message: IncomingMessage | undefined;
      let hasValue = false;
      try {
        const url = this.#at(path);
        message = await this.#answer({ method: 'POST', url, body, traceparent, signal: limit.signal });
        requireType(message, 'text/event-stream', this.#options.model);
        const bytes = message.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
        for await (const data of eventData(bytes, EVENT_LIMITS)) {
          if (data === '[DONE]') {
            letEnd(message);
            message = undefined;
            return;
          }
          hasValue = true;
          yield data;
        }
        return;
      } catch (error) {
        limit.throwIfOver();
        await this.#waitAfter(hasValue ? this.#broken(error) : this.#failure(error), attempt, limit);
      } finally {
        message?.destroy();
      }
    }
  }

  /**
   * Sends a request and returns the JSON of its answer. `path` beginning with `/` starts beside the `/v1` of the base.
   */
  async json(
    method: Exchange['method'],
    path: string,
    body: Readonly<Record<string, unknown>> | undefined,
    context: CallContext,
  ): Promise<unknown> {
    using limit = this.#limit(context);
    const { traceparent } = context;
    for (let attempt = 0; ; attempt += 1) {
      let message: IncomingMessage | undefined;
      try {
        const url = this.#at(path);
        message = await this.#answer({ method, url, ...(body && { body }), traceparent, signal: limit.signal });
        requireType(message, 'application/json', this.#options.model);
        return parseJson((await readAll(message)).toString());
      } catch (error) {
        limit.throwIfOver();
        await this.#waitAfter(this.#failure(error), attempt, limit);
      } finally {
        message?.destroy();
      }
    }
  }

  #at(path: string): URL {
    return path.startsWith('/')
      ? new URL(this.#base.pathname.replace(/\/v1\/$/, '') + path, this.#base)
      : new URL(path, this.#base);
  }

  /** Returns an answer with status 200 whose body is unread. Throws for any other answer. */
  async #answer({ method, url, body, traceparent, signal }: Exchange): Promise<IncomingMessage> {
    const { apiKey, headers, propagatesTrace } = this.#options;
    const content = body && Buffer.from(JSON.stringify(body));
    const all = new Map<string, string>([
      ['accept', 'application/json, text/event-stream'],
      ...(content ? ([['content-type', 'application/json']] as const) : []),
      ...(apiKey === undefined ? [] : ([['authorization', `Bearer ${apiKey}`]] as const)),
      ...(propagatesTrace && traceparent !== undefined ? ([['traceparent', traceparent]] as const) : []),
      ...Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const),
    ]);
    const message = await this.#connections.send({ method, url, headers: [...all], body: content }, signal);
    const status = message.statusCode ?? 0;
    if (status === 200) return message;
    try {
      const text = (await readAll(message, MAX_ERROR_BYTES)).toString();
      throw statusFailure(this.#names, status, message, parsedError(text));
    } finally {
      message.destroy();
    }
  }

  get #names(): { readonly address: string; readonly model: string } {
    return { address: this.address, model: this.#options.model };
  }

  /** Returns the error of a request that has given no value: one of ours, or one that may pass. */
  #failure(error: unknown): AanaError | RetryableFailure {
    if (error instanceof AanaError || error instanceof RetryableFailure) return error;
    return error instanceof AnswerFormatError ? this.invalidAnswer(error) : connectionFailure(this.#names, error);
  }

  invalidAnswer({ message }: AnswerFormatError): InferenceException {
    return new InferenceException(this.#options.model, `${this.address} sent no valid answer: ${message}`);
  }

  /** Returns the error of an answer that has begun. */
  #broken(error: unknown): AanaError {
    const failure = this.#failure(error);
    return failure instanceof AanaError
      ? failure
      : new InferenceException(this.#options.model, `the answer of ${this.address} broke off: ${failure.message}`);
  }

  /** Waits before the next try. Throws the error when there is none. */
  async #waitAfter(failure: AanaError | RetryableFailure, attempt: number, limit: TimeLimit): Promise<void> {
    if (failure instanceof AanaError) throw failure;
    const waitMs = failure.waitMs ?? FIRST_WAIT_MS * 2 ** attempt * (0.5 + Math.random() / 2);
    if (attempt >= this.#options.maxRetries || waitMs > Math.min(MAX_WAIT_MS, limit.leftMs())) throw failure.error;
    this.#options.log.warn('request to a server repeated', {
      server: this.address,
      reason: failure.message,
      delay_ms: Math.round(waitMs),
    });
    await delay(waitMs, limit.signal).catch((error: unknown) => {
      limit.throwIfOver();
      throw error;
    });
  }

  #limit(context: CallContext): TimeLimit {
    return new TimeLimit(context, this.#options.timeoutMs, this.#options.model);
  }

  /** Returns the error in an event of an answer that has begun. */
  eventError(data: string): AanaError {
    return requestFailure(this.#names, parsedError(data), 'an error without a message');
  }
}

const MAX_ERROR_BYTES = 64 * 1024;

function parsedError(text: string): ReturnType<typeof parseServerError> {
  try {
    return parseServerError(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function requireType({ headers }: IncomingMessage, wanted: string, model: string): void {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  if (type.trim().toLowerCase() !== wanted)
    throw new InferenceException(
      model,
      `the server answered with the content type "${type.slice(0, 100)}" and not with ${wanted}; is base_url right?`,
    );
}

function readAll(message: IncomingMessage, maxBytes = MAX_JSON_BYTES): Promise<Buffer> {
  return readUpTo(maxBytes, message as AsyncIterable<Buffer>, (why) => new AnswerFormatError(`it ${why}`));
}

/** Time in which an answer ends after its last event. */
const LAST_BYTES_MS = 1000;

/** Reads an answer after its last event, so that its connection is kept. */
function letEnd(message: IncomingMessage): void {
  const timer = setTimeout(() => message.destroy(), LAST_BYTES_MS).unref();
  message.once('close', () => clearTimeout(timer));
  message.on('error', () => {}).resume();
}

/** Aborts with the caller's signal, at the caller's deadline, and after the time limit of the deployment. */
class TimeLimit implements Disposable {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #endsAtMs: number;
  readonly #error: AanaError;
  readonly #onAbort = (): void => this.#controller.abort(this.#caller.reason);

  constructor(context: CallContext, timeoutMs: number, model: string) {
    const untilDeadline = remainingMs(context) ?? Infinity;
    const ms = Math.min(timeoutMs, untilDeadline);
    this.#error = fail(
      'DeadlineExceeded',
      untilDeadline <= timeoutMs
        ? `the request to ${model} was stopped: its time was up`
        : `the request to ${model} was stopped: it took longer than timeout_s, ${timeoutMs / 1000} s`,
      { data: { model_name: model } },
    );
    this.#endsAtMs = performance.now() + ms;
    this.#timer = setTimeout(() => this.#controller.abort(this.#error), ms);
    this.#caller = context.signal;
    this.#caller.addEventListener('abort', this.#onAbort, { once: true });
    if (this.#caller.aborted) this.#onAbort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  leftMs(): number {
    return this.#endsAtMs - performance.now();
  }

  throwIfOver(): void {
    this.signal.throwIfAborted();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener('abort', this.#onAbort);
  }
}
