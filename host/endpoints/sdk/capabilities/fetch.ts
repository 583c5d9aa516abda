import { hostPromise } from '../guest/event-loop.ts';
import type { Http, Response } from '../../../../wit/generated/world/http.ts';
import { decodeUtf8, encodeUtf8 } from '../guest/utf8.ts';

export interface FetchOptions {
  /** Default: GET, or POST with a body. */
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** A complete answer with any status. */
export class FetchResponse {
  readonly status: number;
  /** The URL of the answer, after redirects. */
  readonly url: string;
  readonly body: Uint8Array;
  readonly #headers: readonly (readonly [string, string])[];

  constructor({ status, url, headers, body }: Response) {
    this.status = status;
    this.url = url;
    this.body = body;
    this.#headers = headers;
  }

  /** Whether the status is 200 to 299. */
  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** Returns the values of a header, joined by ", ", or undefined when it is missing. */
  header(name: string): string | undefined {
    const values = this.#headers.filter(([key]) => key === name.toLowerCase()).map(([, value]) => value);
    return values.length > 0 ? values.join(', ') : undefined;
  }

  text(): string {
    return decodeUtf8(this.body);
  }

  json<T = unknown>(): T {
    return JSON.parse(this.text()) as T;
  }
}

/**
 * Sends a request to a host that `plugin.json` requests and the operator grants. Throws `HostDenied`,
 * `PrivateAddressException`, `DownloadException` …
 */
export type Fetch = (url: string, options?: FetchOptions) => Promise<FetchResponse>;

export function createFetch(host: Http): Fetch {
  return (url, { method, headers = {}, body } = {}) => {
    const bytes = typeof body === 'string' ? encodeUtf8(body) : body?.slice(); // it may change before the call is made
    const fields = Object.entries(headers);
    const post = (method ?? (bytes === undefined ? 'GET' : 'POST')) === 'POST';
    return hostPromise(
      () =>
        host.fetch({
          method: post ? 'post' : 'get',
          url,
          headers: fields,
          ...(bytes && { body: bytes }),
        }),
      (response) => new FetchResponse(response),
    );
  };
}
