/** `Response` (Fetch standard, 5.5), in components whose code names it or `fetch`. */
import { URL } from '../url.ts';
import { Body, type BodyInit, type RemoteBodyInit } from './body.ts';
import { Headers, type HeadersInit } from './headers.ts';

export interface ResponseInit {
  /** 200 to 599. */
  readonly status?: number;
  readonly statusText?: string;
  readonly headers?: HeadersInit;
}

export const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export class Response extends Body {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  #type: 'default' | 'error' | 'basic' = 'default';
  #url = '';
  #isRedirected = false;

  constructor(body: BodyInit | null = null, init?: ResponseInit | null) {
    super();
    const { headers } = init ?? {};
    const status = Math.trunc(Number(init?.status ?? 200)); // packages give texts, too
    const statusText = String(init?.statusText ?? '');
    if (!(status >= 200 && status <= 599))
      throw new RangeError(`the status of a Response is 200 to 599, not ${status}`);
    if (/[^\t\x20-\x7e\x80-\xff]/.test(statusText)) throw new TypeError('the text of the status has other characters');
    if (body !== null && WITHOUT_BODY.has(status))
      throw new TypeError(`a Response with the status ${status} has no body`);
    this.status = status;
    this.statusText = statusText;
    this.headers = new Headers(headers);
    this.setBody(body);
  }

  /** @internal An answer of a server, or of a `data:` URL. */
  static received(
    { status, statusText, headers }: Required<ResponseInit>,
    {
      url,
      isRedirected,
      body,
    }: { readonly url: string; readonly isRedirected: boolean; readonly body: BodyInit | RemoteBodyInit | null },
  ): Response {
    const response = new Response(null, { headers });
    // 1xx to 199 never arrive here, and servers may send numbers above 599.
    Object.assign(response, { status, statusText });
    response.#type = 'basic';
    response.#url = url;
    response.#isRedirected = isRedirected;
    response.setBody(body);
    return response;
  }

  static error(): Response {
    const response = new Response();
    Object.assign(response, { status: 0 });
    response.#type = 'error';
    return response;
  }

  static json(value: unknown, init: ResponseInit = {}): Response {
    const json = JSON.stringify(value) as string | undefined;
    if (json === undefined) throw new TypeError('the value has no JSON');
    const headers = new Headers(init.headers);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    return new Response(json, { ...init, headers });
  }

  static redirect(url: string, status = 302): Response {
    if (!REDIRECTS.has(status)) throw new RangeError(`${status} is no status of a redirect`);
    const { href } = new URL(String(url));
    return new Response(null, { status, headers: { location: href } });
  }

  get [Symbol.toStringTag](): string {
    return 'Response';
  }

  get type(): string {
    return this.#type;
  }

  /** The URL of the answer, after redirects. Empty for one that the plugin has made. */
  get url(): string {
    return this.#url;
  }

  get redirected(): boolean {
    return this.#isRedirected;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  clone(): Response {
    const body = this.copiedBody();
    const copy = new Response(null, { headers: this.headers });
    Object.assign(copy, { status: this.status, statusText: this.statusText });
    copy.#type = this.#type;
    copy.#url = this.#url;
    copy.#isRedirected = this.#isRedirected;
    copy.setBody(body);
    return copy;
  }
}
