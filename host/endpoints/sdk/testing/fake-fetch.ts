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
  /** Text, bytes, or a value that is sent as JSON. */
  readonly body?: unknown;
}

/** Answers a request, or throws a `HostError`. */
export type AnswerRequest = (request: FakeRequest) => MaybePromise<FakeResponse>;

interface Fetching {
  /** Undefined: the plugin does not have the capability. */
  readonly answer: AnswerRequest | undefined;
  readonly requests: FakeRequest[];
}

interface NodeRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Iterable<[string, string]>;
  text(): Promise<string>;
}

/** What Node has of the web. The types of Node are not here, because a guest has no Node. */
const web = globalThis as unknown as {
  fetch: (...args: never[]) => Promise<unknown>;
  readonly Request: new (...args: never[]) => NodeRequest;
  readonly Response: new (body: unknown, init: object) => object;
};

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
    return run ? answered(run, new web.Request(...args)) : real(...args);
  };
}

async function answered({ answer, requests }: Fetching, request: NodeRequest): Promise<unknown> {
  const { method, url } = request;
  const fake = { method, url, headers: Object.fromEntries(request.headers), body: await request.text() };
  try {
    if (!answer)
      throw new HostError(
        'CapabilityDenied',
        'denied',
        'the test gives no fetch, so the plugin has no capability http',
      );
    requests.push(fake);
    const { status = 200, headers = {}, body } = await answer(fake);
    const response = new web.Response(withoutBody.has(status) ? null : bodyOf(body), { status, headers });
    return Object.defineProperty(response, 'url', { value: url });
  } catch (thrown) {
    const { kind, name, message, data } = toErrorRecord(thrown);
    const cause = new HostError(name, kind, message, { data: JSON.parse(data) });
    throw new TypeError(`fetch failed: ${message}`, { cause }); // oxlint-disable-line preserve-caught-error -- it is a copy
  }
}

const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

function bodyOf(body: unknown): unknown {
  return body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
}
