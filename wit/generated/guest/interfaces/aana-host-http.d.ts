// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/http@0.1.0' {
  /**
   * Sends a request and waits for the complete answer, with any status. Time, size and redirects are limited.
   */
  export function fetch(request: Request): Response;
  export type Error = import('aana:host/types@0.1.0').Error;
  /**
   * # Variants
   *
   * ## `"get"`
   *
   * ## `"post"`
   */
  export type Method = 'get' | 'post';
  export interface Request {
    method: Method,
    /**
     * Absolute, `http` or `https`.
     */
    url: string,
    /**
     * Names and values. Headers of the connection (`host`, `content-length` …) are refused.
     */
    headers: Array<[string, string]>,
    /**
     * Only with `post`.
     */
    body?: Uint8Array,
  }
  export interface Response {
    status: number,
    /**
     * The URL of the answer, after redirects.
     */
    url: string,
    /**
     * Names in lower case. A name can occur several times.
     */
    headers: Array<[string, string]>,
    body: Uint8Array,
  }
}
