import { ApiError, type ErrorBody, errorOf, isErrorBody } from './errors.ts';
import { jsonValues, type ServerSentEvent, serverSentEvents } from './streams.ts';

export interface ClientOptions {
  /** Address of the server. Default: the address that the client was generated with. */
  readonly baseUrl?: string | undefined;
  /** Sent with every request. */
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Default: the `fetch` of the platform. */
  readonly fetch?: typeof fetch | undefined;
}

export interface CallOptions {
  /** Ends the request and the work of the server for it. */
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Files by the names that the input uses for them. A `Blob` or `File` can also be a value in the input itself. */
  readonly files?: Readonly<Record<string, Blob>> | undefined;
}

export interface DeferOptions extends CallOptions {
  /** From -1000 to 1000. Tasks with a higher number run first. */
  readonly priority?: number | undefined;
  /** Time for one attempt, in seconds. */
  readonly executionTimeout?: number | undefined;
  /** A repeated request with the same key gets the same task. */
  readonly idempotencyKey?: string | undefined;
}

/** A file: a `Blob` or `File`, or its name in the option `files` of the call. */
export type FileInput = Blob | string;

/** Returns a file on the disk of this machine (Node ≥ 20.16). It is read while it is sent. */
export async function openFile(path: string, name: string = path.replace(/^.*[\\/]/, '')): Promise<File> {
  const { process } = globalThis as unknown as {
    process?: { getBuiltinModule?(id: string): { openAsBlob(path: string): Promise<Blob> } };
  };
  const fs = process?.getBuiltinModule?.('node:fs');
  if (!fs) throw new TypeError('openFile() needs Node 20.16 or newer: on other platforms pass a Blob or File');
  return new File([await fs.openAsBlob(path)], name);
}

export type TaskStatus = 'created' | 'assigned' | 'running' | 'completed' | 'failed' | 'not_finished' | 'cancelled';

/** A request that is stored and runs later. */
export interface TaskInfo<Result = unknown> {
  readonly id: string;
  readonly endpoint: string;
  readonly data: unknown;
  readonly status: TaskStatus;
  /** Null until the task has ended. */
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

/** A task of the server. It continues after the end of this process, so keep its `id`. */
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

  /** Waits for the end of the task and returns its result. Throws the error of a failed task as an `ApiError`. */
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
   * Yields the events of the task, from its beginning or after an event, until it has ended. Connects again if the
   * connection is lost.
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
        // A task that ended before `after` has no more events.
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

  /** Gives a failed task new attempts. */
  retry(options?: CallOptions): Promise<TaskInfo<Result>> {
    return this.#api.request('POST', `/tasks/${this.id}/retry`, options);
  }

  delete(options?: CallOptions): Promise<TaskInfo<Result>> {
    return this.#api.request('DELETE', `/tasks/${this.id}`, options);
  }
}

/** Sends requests to a server. The methods of the client use it. */
export class Api {
  readonly #options: ClientOptions & { readonly baseUrl: string };

  constructor(options: ClientOptions & { readonly baseUrl: string }) {
    this.#options = { ...options, baseUrl: options.baseUrl.replace(/\/+$/, '') };
  }

  /** Returns the JSON of the answer, or undefined if it has none. */
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

  /**
   * Returns the JSON of the answer. An answer that is text or bytes becomes an object with its media type, as in a
   * task.
   */
  async call<T>(path: string, input: unknown, options?: CallOptions): Promise<T> {
    const response = await this.#post(path, input, options);
    const [type = ''] = (response.headers.get('content-type') ?? '').split(';');
    const mediaType = type.trim().toLowerCase();
    if (response.headers.get('x-aana-answer') === 'bytes')
      return { media_type: mediaType, base64: base64Of(new Uint8Array(await response.arrayBuffer())) } as T;
    if (mediaType === '' || mediaType.includes('json')) return (await response.json()) as T;
    return { media_type: mediaType, text: await response.text() } as T;
  }

  /** Yields values when the server sends them. Leaving the loop ends the work of the server. */
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

  /** Throws `ApiError` if the answer is an error. */
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

function base64Of(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 8_192) binary += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(binary);
}

type QueryValue = string | number | boolean | null | undefined;

/** Returns a query with its question mark, or an empty text. */
export function queryOf(values: Readonly<Record<string, QueryValue | readonly QueryValue[]>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null) query.append(name, String(one));
  return `${query}` === '' ? '' : `?${query}`;
}

/** Returns the input with a name for each file, and adds the files to `files` under these names. */
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
