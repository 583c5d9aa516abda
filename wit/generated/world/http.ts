// Generated from wit/world.wit by `npm run generate`; do not edit.

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

/** The interface `http` as a guest sees it. A function that fails throws the record `error`. */
export interface Http {
  /** Sends a request and waits for the complete answer, with any status. Time, size and redirects are limited. */
  fetch(request: Request): Response;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface HttpCalls {
  'http.fetch': { readonly args: readonly [request: Request]; readonly value: Response };
}
