// Generated from wit/world.wit by `npm run generate`; do not edit.

export type Method = 'get' | 'post';

export interface Request {
  readonly method: Method;
  /** Absolute, `http` or `https`. */
  readonly url: string;
  /** Names and values; those that belong to the connection (`host`, `content-length` …) are refused. */
  readonly headers: readonly (readonly [string, string])[];
  /** With `post` alone. */
  readonly body?: Uint8Array | undefined;
}

export interface Response {
  readonly status: number;
  /** Where the answer came from, after redirects. */
  readonly url: string;
  /** Names in lower case; a name may come again. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

/** The interface `http` as a guest sees it. A function that fails throws the record `error`. */
export interface Http {
  /** Sends a request and waits for its whole answer, whatever its status. Time, size and redirects are limited. */
  fetch(request: Request): Response;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface HttpCalls {
  'http.fetch': { readonly args: readonly [request: Request]; readonly value: Response };
}
