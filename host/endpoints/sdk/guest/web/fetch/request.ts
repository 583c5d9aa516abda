/** `Request` (Fetch standard, 5.4), in components whose code names it or `fetch`. */
import { AbortSignal } from '../abort.ts';
import { URL } from '../url.ts';
import { Body, type BodyInit } from './body.ts';
import { Headers, type HeadersInit } from './headers.ts';

export type RequestInput = string | { toString(): string } | Request;

export interface RequestInit {
  readonly method?: string;
  readonly headers?: HeadersInit;
  readonly body?: BodyInit | null;
  readonly redirect?: 'follow' | 'error' | 'manual';
  readonly signal?: AbortSignal | null;
  readonly integrity?: string;
}

/** Methods that are written in upper case whatever the caller writes. */
const USUAL = /^(delete|get|head|options|post|put)$/i;
const FORBIDDEN = /^(connect|trace|track)$/i;
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

export class Request extends Body {
  readonly method: string;
  /** Absolute, as the parser of URLs writes it. */
  readonly url: string;
  readonly headers: Headers;
  readonly redirect: 'follow' | 'error' | 'manual';
  readonly signal: AbortSignal;

  constructor(input: RequestInput, given?: RequestInit | null) {
    super();
    const init = given ?? {};
    const from = input instanceof Request ? input : undefined;
    const { method = from?.method ?? 'GET', redirect = from?.redirect ?? 'follow', integrity = '' } = init;
    this.url = from?.url ?? absolute(String(input));
    this.method = methodOf(String(method));
    this.headers = new Headers(init.headers ?? from?.headers);
    if (redirect !== 'follow' && redirect !== 'error' && redirect !== 'manual')
      throw new TypeError(`redirect is follow, error or manual, not ${String(redirect)}`);
    this.redirect = redirect;
    if (integrity !== '') throw new TypeError('a plugin has no check of integrity: compare a digest of the bytes');
    this.signal = (init.signal === undefined ? from?.signal : init.signal) ?? new AbortSignal();
    const hasBody = init.body !== undefined && init.body !== null;
    if ((this.method === 'GET' || this.method === 'HEAD') && (hasBody || (init.body === undefined && from?.hasBody)))
      throw new TypeError(`a request with the method ${this.method} has no body`);
    if (init.body === undefined && from) this.moveBody(from);
    else this.setBody(init.body);
  }

  get [Symbol.toStringTag](): string {
    return 'Request';
  }

  clone(): Request {
    const { url, method, headers, redirect, signal } = this;
    const copy = new Request(url, { method, headers, redirect, signal });
    copy.setBody(this.copiedBody());
    return copy;
  }
}

function methodOf(method: string): string {
  if (!TOKEN.test(method) || FORBIDDEN.test(method))
    throw new TypeError(`the method ${JSON.stringify(method)} cannot be used`);
  return USUAL.test(method) ? method.toUpperCase() : method;
}

/**
 * URLs that the parser leaves as they are. It takes some milliseconds for a URL and seconds for an image in one,
 * because it looks at each character.
 */
const PLAIN = new RegExp(
  [
    '^data:[!$-;=@-~]*$',
    '^https?://(?![^/]*xn--)(?:[a-z\\d-]+\\.)*[a-z][a-z\\d-]*(?::(?:[1-9]\\d{3}|[1-5]\\d{4}))?' +
      "(?:/(?:[\\w~!$&'()*+,;=:@-][\\w~!$&'()*+,;=:@.%-]*)?)+(?:\\?[\\w~!$&()*+,;=:@.%/?-]*)?$",
  ].join('|'),
);

function absolute(text: string): string {
  if (PLAIN.test(text)) return text;
  const url = URL.parse(text);
  if (!url) throw new TypeError(`cannot request ${JSON.stringify(text)}: it is no absolute URL`);
  if (url.username !== '' || url.password !== '')
    throw new TypeError('the URL has a user name or a password: send the header authorization');
  return url.href;
}
