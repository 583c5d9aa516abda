import { AsyncLocalStorage } from 'node:async_hooks';
import { HostError, toErrorRecord } from '../host-error.ts';
import type { MaybePromise } from '../maybe-promise.ts';

export interface FakeRequest {
  readonly method: string;
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface FakeResponse {
  /** Default: 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text, bytes, a stream or an asynchronous generator of bytes, or a value that is sent as JSON. */
  readonly body?: unknown;
}

/** A `Response` of Node. */
interface NodeResponse {
  readonly status: number;
  readonly bodyUsed: boolean;
  text(): Promise<string>;
}

/** Answers a request, or throws a `HostError`. */
export type AnswerRequest = (request: FakeRequest) => MaybePromise<FakeResponse | NodeResponse>;

interface Fetching {
  /** Undefined: the plugin does not have the capability. */
  readonly answer: AnswerRequest | undefined;
  readonly requests: FakeRequest[];
}

interface NodeRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Iterable<[string, string]>;
  readonly signal: Signal;
  text(): Promise<string>;
}

interface Signal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
}

/** What Node has of the web. The types of Node are not here, because a guest has no Node. */
const web = globalThis as unknown as {
  fetch: (...args: never[]) => Promise<unknown>;
  readonly Request: new (...args: never[]) => NodeRequest;
  readonly Response: new (body: unknown, init: object) => object;
};

declare const setInterval: (call: () => void, ms: number) => number;
declare const clearInterval: (timer: number | undefined) => void;

const runs = new AsyncLocalStorage<Fetching>();
let isInstalled = false;

/** Calls `run`. Until it has ended, what it began gets the answers of `answer` from `fetch`. */
export function withFetch<R>(answer: AnswerRequest | undefined, requests: FakeRequest[], run: () => R): R {
  install();
  return runs.run({ answer, requests }, run);
}

/** Puts a `fetch` in the place of Node's, which is still there for code outside of a run. */
function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  const real = web.fetch;
  web.fetch = async (...args) => {
    const run = runs.getStore();
    if (!run) return real(...args);
    const request = new web.Request(...args);
    const [input, init] = args as unknown as [unknown, { readonly signal?: unknown } | undefined];
    const hasSignal = Boolean(init?.signal) || input instanceof web.Request;
    // Node does not wait for `AbortSignal.timeout`, and would have nothing left to do. The signal of a request follows
    // that of the caller only while somebody has the request.
    const alive = hasSignal ? setInterval(() => void request, 60_000) : undefined;
    try {
      return await answered(run, request);
    } finally {
      clearInterval(alive);
    }
  };
}

async function answered({ answer, requests }: Fetching, request: NodeRequest): Promise<unknown> {
  const { method, url, signal } = request;
  const fake = { method, url, headers: Object.fromEntries(request.headers), body: await request.text() };
  try {
    if (!answer)
      throw new HostError(
        'CapabilityDenied',
        'denied',
        'the test gives no fetch, so the plugin has no capability http',
      );
    requests.push(fake);
    const given = await Promise.race([answer(fake), aborted(signal)]);
    if (signal.aborted) throw signal.reason;
    if (given instanceof web.Response) return given;
    const { status = 200, headers = {}, body } = given as FakeResponse;
    const response = new web.Response(withoutBody.has(status) ? null : bodyOf(body), { status, headers });
    return Object.defineProperty(response, 'url', { value: url });
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    const { kind, name, message, data } = toErrorRecord(thrown);
    const cause = new HostError(name, kind, message, { data: JSON.parse(data) });
    // oxlint-disable-next-line preserve-caught-error -- it is a copy
    throw new TypeError(`fetch failed: ${message}`, { cause });
  }
}

/** Resolves when the signal is aborted. */
const aborted = (signal: Signal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined));
  });

const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

function bodyOf(body: unknown): unknown {
  const isRead = typeof body === 'object' && body !== null && (Symbol.asyncIterator in body || 'getReader' in body);
  if (isRead || body === undefined || typeof body === 'string' || body instanceof Uint8Array) return body;
  return JSON.stringify(body);
}
