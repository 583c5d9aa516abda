// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/http@0.1.0' {
  /**
   * Sends a request and waits for the complete answer, with any status. Time, size and redirects are limited.
   */
  export function fetch(request: Request): Response;
  export type Base64 = import('aana:host/types@0.1.0').Base64;
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
  /**
   * What a request is, without its body.
   */
  export interface RequestHead {
    /**
     * Such as `PUT`: any method but CONNECT, TRACE and TRACK.
     */
    method: string,
    /**
     * Absolute, `http` or `https`.
     */
    url: string,
    /**
     * Names and values. Headers of the connection (`host`, `content-length` …) are refused.
     */
    headers: Array<[string, string]>,
    /**
     * Whether redirects are followed. Otherwise a redirect is the answer.
     */
    followRedirects: boolean,
  }
  /**
   * The body of a request: at most 8,388,608 bytes.
   */
  export type RequestBody = RequestBodyText | RequestBodyBytes;
  /**
   * Sent in UTF-8.
   */
  export interface RequestBodyText {
    tag: 'text',
    val: string,
  }
  export interface RequestBodyBytes {
    tag: 'bytes',
    val: Base64,
  }
  /**
   * What an answer is, without its body.
   */
  export interface ResponseHead {
    status: number,
    statusText: string,
    /**
     * The URL of the answer, after redirects.
     */
    url: string,
    /**
     * Whether a redirect was followed.
     */
    redirected: boolean,
    /**
     * Names in lower case. A name can occur several times.
     */
    headers: Array<[string, string]>,
  }

  export class Exchange implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Sends a request and waits for the head of the answer, with any status.
    */
    static send(head: RequestHead, body: RequestBody | undefined): Exchange;
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
    [Symbol.dispose](): void;
  }
}
