// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-deployments.d.ts" />
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/output@0.1.0' {
  /**
   * Sends one JSON value to the client. It may return before the client has received the value. Fails with `cancelled`
   * when the client has gone.
   */
  export function write(chunk: string): void;
  /**
   * Sends all remaining values of a stream, without entering the guest for each one.
   */
  export function forward(source: Chunks): void;
  /**
   * Begins an answer that is bytes, instead of JSON that `run` returns. Then `send` sends the bytes, and `run` returns
   * `null`. The client gets an error of `run` as the answer if nothing was sent yet; otherwise its connection is
   * closed.
   */
  export function begin(head: AnswerHead): void;
  /**
   * Sends bytes of the answer. It returns when the client has room for more. Fails with `cancelled` when the client
   * has gone.
   */
  export function send(bytes: Base64): void;
  export type Base64 = import('aana:host/types@0.1.0').Base64;
  export type Error = import('aana:host/types@0.1.0').Error;
  export type Chunks = import('aana:host/deployments@0.1.0').Chunks;
  /**
   * The head of an answer that is bytes.
   */
  export interface AnswerHead {
    /**
     * One that the output schema names beside `x-aana-bytes`.
     */
    mediaType: string,
    /**
     * 200 to 299 without 204, 205 and 206, or 400 to 599.
     */
    status: number,
    /**
     * Names and values: `cache-control`, `content-disposition`, `content-language`, `etag`, `expires`, `last-modified`
     * and `retry-after`.
     */
    headers: Array<[string, string]>,
  }
}
