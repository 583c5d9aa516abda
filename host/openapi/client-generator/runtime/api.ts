import { ApiError, type ErrorBody, errorOf, isErrorBody } from './errors.ts';
import { jsonValues, type ServerSentEvent, serverSentEvents } from './streams.ts';

export interface ClientOptions {
  /** Address of the server. Default: that which the client was generated from. */
  readonly baseUrl?: string | undefined;
  /** Sent with every request. */
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Default: that of the platform. */
  readonly fetch?: typeof fetch | undefined;
}

export interface CallOptions {
  /** Ends the request, and the work that the server does for it. */
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Files that the input names by texts: by these names. A `Blob` or `File` can stand in the input itself, too. */
  readonly files?: Readonly<Record<string, Blob>> | undefined;
}

export interface DeferOptions extends CallOptions {
  /** Higher ones first, from -1000 to 1000. */
  readonly priority?: number | undefined;
  /** Seconds for one attempt. */
  readonly executionTimeout?: number | undefined;
  /** The same key with the same request gives the same task. */
  readonly idempotencyKey?: string | undefined;
}

/** A file: a `Blob` or `File`, or the name of one in `files` of the call's options. */
export type FileInput = Blob | string;

/** A file of this machine's disk (Node ≥ 20.16), read as it is sent. */
export async function openFile(path: string, name: string = path.replace(/^.*[\\/]/, '')): Promise<File> {
  const { process } = globalThis as unknown as {
    process?: { getBuiltinModule?(id: string): { openAsBlob(path: string): Promise<Blob> } };
  };
  const fs = process?.getBuiltinModule?.('node:fs');
  if (!fs) throw new TypeError('openFile() needs Node 20.16 or newer: elsewhere give a Blob or File');
  return new File([await fs.openAsBlob(path)], name);
}

export type TaskStatus = 'created' | 'assigned' | 'running' | 'completed' | 'failed' | 'not_finished' | 'cancelled';

/** A request that is answered later. */
export interface TaskInfo<Result = unknown> {
  readonly id: string;
  readonly endpoint: string;
  readonly data: unknown;
  readonly status: TaskStatus;
  /** Null until it has ended. */
  readonly result: Result | ErrorBody | null;
  /** Per cent. */
  readonly progress: number;
}

/**
 * `event` is `created`, `assigned`, `running`, `progress`, `chunk`, `not_finished`, `completed`, `failed` or
 * `cancelled`.
 */
export type TaskEvent = ServerSentEvent;

const ENDED = new Set(['completed', 'failed', 'cancelled']);
const RECONNECT_MS = 1000;
const RECONNECTS = 5;

/** A task of the server. It goes on when this process ends: keep its `id`. */
export class TaskHandle<Result> {
  readonly id: string;
  readonly #api: Api;

  constructor(api: Api, id: string) {
    this.#api = api;
    this.id = id;
  }

  get(options?: CallOptions): Promise<TaskInfo<Result>> {
    return this.#api.request('GET', `/tasks/${this.id}`, options);
  }

  /** Its result, when it has ended. Throws what it failed with as an `ApiError`. */
  async wait(options?: CallOptions): Promise<Result> {
    for await (const _ of this.events(options));
    const { status, result } = await this.get(options);
    if (status === 'completed') return result as Result;
    if (isErrorBody(result)) throw new ApiError(200, result);
    throw new ApiError(200, {
      error: 'TaskCancelled',
      message: `the task ${this.id} was cancelled`,
      data: {},
      stacktrace: null,
    });
  }

  /**
   * What happens to it, from its beginning or after an event, until it has ended; connects again where the connection
   * is lost.
   */
  async *events({ after = 0, ...options }: CallOptions & { readonly after?: number } = {}): AsyncGenerator<
    TaskEvent,
    void,
    undefined
  > {
    let last = after;
    for (let failures = 0; ; failures++) {
      try {
        const response = await this.#api.fetch('GET', `/tasks/${this.id}/events?last_event_id=${last}`, options, {
          accept: 'text/event-stream',
        });
        for await (const event of serverSentEvents(response)) {
          failures = 0;
          last = event.id;
          yield event;
          if (ENDED.has(event.event)) return;
        }
        // A task that had ended before `after` has no more events.
        if (ENDED.has((await this.get(options)).status)) return;
      } catch (error) {
        if (options.signal?.aborted || (error instanceof ApiError && error.status < 500) || failures >= RECONNECTS)
          throw error;
      }
      await pause(RECONNECT_MS, options.signal);
    }
  }

  cancel(options?: CallOptions): Promise<TaskInfo<Result>> {
    return this.#api.request('POST', `/tasks/${this.id}/cancel`, options);
  }

  /** New attempts for a task that failed. */
  retry(options?: CallOptions): Promise<TaskInfo<Result>> {
    return this.#api.request('POST', `/tasks/${this.id}/retry`, options);
  }

  delete(options?: CallOptions): Promise<TaskInfo<Result>> {
    return this.#api.request('DELETE', `/tasks/${this.id}`, options);
  }
}

/** Requests of a server; the client's methods are made of these. */
export class Api {
  readonly #options: ClientOptions & { readonly baseUrl: string };

  constructor(options: ClientOptions & { readonly baseUrl: string }) {
    this.#options = { ...options, baseUrl: options.baseUrl.replace(/\/+$/, '') };
  }

  /** The answer's JSON; undefined where it has none. */
  async request<T>(method: string, path: string, options?: CallOptions, body?: unknown): Promise<T> {
    const content = body === undefined ? undefined : JSON.stringify(body);
    const response = await this.fetch(
      method,
      path,
      options,
      content === undefined ? {} : { 'content-type': 'application/json' },
      content,
    );
    const text = await response.text();
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  async call<T>(path: string, input: unknown, options?: CallOptions): Promise<T> {
    return (await (await this.#post(path, input, options)).json()) as T;
  }

  /** Values as they are made. Leaving the loop ends the work. */
  async *stream<T>(path: string, input: unknown, options?: CallOptions): AsyncGenerator<T, void, undefined> {
    const response = await this.#post(path, input, {
      ...options,
      headers: { accept: 'application/x-ndjson', ...options?.headers },
    });
    for await (const value of jsonValues(response)) {
      if (isErrorBody(value)) throw new ApiError(response.status, value, response.headers);
      yield value as T;
    }
  }

  async defer<T>(
    path: string,
    input: unknown,
    { priority, executionTimeout, idempotencyKey, headers, ...options }: DeferOptions = {},
    isAsked = true,
  ): Promise<TaskHandle<T>> {
    const query = queryOf({ defer: isAsked ? true : undefined, priority, execution_timeout: executionTimeout });
    const all = { ...headers, ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }) };
    const { task_id: id } = (await (
      await this.#post(`${path}${query}`, input, { ...options, headers: all })
    ).json()) as { task_id: string };
    return this.task(id);
  }

  task<T>(id: string): TaskHandle<T> {
    return new TaskHandle(this, encodeURIComponent(id));
  }

  /** Throws `ApiError` where the answer is an error. */
  async fetch(
    method: string,
    path: string,
    { signal, headers = {} }: CallOptions = {},
    own: Readonly<Record<string, string>> = {},
    body?: string | FormData,
  ): Promise<Response> {
    const { baseUrl, apiKey, headers: always = {}, fetch: send = globalThis.fetch } = this.#options;
    const response = await send(`${baseUrl}${path}`, {
      method,
      headers: { ...(apiKey !== undefined && { 'x-api-key': apiKey }), ...always, ...own, ...headers },
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    });
    if (!response.ok) throw new ApiError(response.status, errorOf(response, await response.text()), response.headers);
    return response;
  }

  #post(path: string, input: unknown, options: CallOptions = {}): Promise<Response> {
    const files = new Map<string, Blob>(Object.entries(options.files ?? {}));
    const body = JSON.stringify(withFileNames(input, files));
    if (files.size === 0) return this.fetch('POST', path, options, { 'content-type': 'application/json' }, body);
    const form = new FormData();
    form.set('body', body);
    for (const [name, file] of files) form.set(name, file);
    return this.fetch('POST', path, options, {}, form);
  }
}

/** A query with its question mark; empty when there is nothing in it. */
export function queryOf(values: Readonly<Record<string, string | number | boolean | null | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && value !== null) query.set(name, String(value));
  return `${query}` === '' ? '' : `?${query}`;
}

/** The input with a name in place of each file; the files are added to `files` under these names. */
function withFileNames(value: unknown, files: Map<string, Blob>): unknown {
  if (value instanceof Blob) {
    const known = [...files].find(([, file]) => file === value)?.[0];
    if (known !== undefined) return known;
    let n = files.size + 1;
    while (files.has(`file${n}`)) n++;
    files.set(`file${n}`, value);
    return `file${n}`;
  }
  if (Array.isArray(value)) return value.map((inner) => withFileNames(inner, files));
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withFileNames(inner, files)]));
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve();
    }
    signal?.addEventListener('abort', done);
    if (signal?.aborted) done();
  });
}
