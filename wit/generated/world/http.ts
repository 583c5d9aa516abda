// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { Base64 } from './types.ts';

export type Method = 'get' | 'post';

export interface Request {
  readonly method: Method;
  /** Absolute, `http` or `https`. */
  readonly url: string;
  /** Names and values. Headers of the connection (`host`, `content-length` …) are refused. */
  readonly headers: readonly (readonly [string, string])[];
  /** Only with `post`. */
  readonly body?: Uint8Array | undefined;
}

export interface Response {
  readonly status: number;
  /** The URL of the answer, after redirects. */
  readonly url: string;
  /** Names in lower case. A name can occur several times. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

/** What a request is, without its body. */
export interface RequestHead {
  /** Such as `PUT`: any method but CONNECT, TRACE and TRACK. */
  readonly method: string;
  /** Absolute, `http` or `https`. */
  readonly url: string;
  /** Names and values. Headers of the connection (`host`, `content-length` …) are refused. */
  readonly headers: readonly (readonly [string, string])[];
  /** Whether redirects are followed. Otherwise a redirect is the answer. */
  readonly followRedirects: boolean;
}

/** The body of a request: at most 8,388,608 bytes. */
export type RequestBody =
  /** Sent in UTF-8. */
  | { readonly tag: 'text'; readonly val: string }
  | { readonly tag: 'bytes'; readonly val: Base64 };

/** What an answer is, without its body. */
export interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  /** The URL of the answer, after redirects. */
  readonly url: string;
  /** Whether a redirect was followed. */
  readonly redirected: boolean;
  /** Names in lower case. A name can occur several times. */
  readonly headers: readonly (readonly [string, string])[];
}

/** A request with any method, and its answer, which the server sends no faster than the guest reads. */
export interface Exchange extends Disposable {
  head(): ResponseHead;
  /**
   * Returns the next bytes of the answer: when there are `least` of them (1 to 8,388,608), or those before its end.
   * At most 262,144, or `least` if that is more. Empty at the end.
   */
  read(least: number): Base64;
  /**
   * Returns the same bytes read as UTF-8, without a byte order mark at the beginning of the answer. A character that
   * the end of the piece cuts is in the next one. Bytes that are no UTF-8 become U+FFFD. Empty at the end.
   */
  readText(least: number): string;
}

/** A new exchange as it crosses from the host: its handle, and the facts about it. */
export interface ExchangeHandle {
  readonly handle: number;
  readonly head: ResponseHead;
}

/** The interface `http` as a guest sees it. A function that fails throws the record `error`. */
export interface Http {
  readonly Exchange: {
    /** Sends a request and waits for the head of the answer, with any status. */
    send(head: RequestHead, body: RequestBody | undefined): Exchange;
  };
  /** Sends a request and waits for the complete answer, with any status. Time, size and redirects are limited. */
  fetch(request: Request): Response;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface HttpCalls {
  'http.fetch': { readonly args: readonly [request: Request]; readonly value: Response };
  'http.send': { readonly args: readonly [head: RequestHead, body: RequestBody | undefined];
    readonly value: ExchangeHandle };
  'http.read': { readonly args: readonly [exchange: number, least: number]; readonly value: Base64 };
  'http.read-text': { readonly args: readonly [exchange: number, least: number]; readonly value: string };
}
