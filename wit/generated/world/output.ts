// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { Base64 } from './types.ts';
import type { Chunks } from './deployments.ts';

/** The head of an answer that is bytes. */
export interface AnswerHead {
  /** One that the output schema names beside `x-aana-bytes`. */
  readonly mediaType: string;
  /** 200 to 299 without 204, 205 and 206, or 400 to 599. */
  readonly status: number;
  /**
   * Names and values: `cache-control`, `content-disposition`, `content-language`, `etag`, `expires`, `last-modified`
   * and `retry-after`.
   */
  readonly headers: readonly (readonly [string, string])[];
}

/** The interface `output` as a guest sees it. A function that fails throws the record `error`. */
export interface Output {
  /**
   * Sends one JSON value to the client. It may return before the client has received the value. Fails with `cancelled`
   * when the client has gone.
   */
  write(chunk: string): void;
  /** Sends all remaining values of a stream, without entering the guest for each one. */
  forward(source: Chunks): void;
  /**
   * Begins an answer that is bytes, instead of JSON that `run` returns. Then `send` sends the bytes, and `run` returns
   * `null`. The client gets an error of `run` as the answer if nothing was sent yet; otherwise its connection is
   * closed.
   */
  begin(head: AnswerHead): void;
  /**
   * Sends bytes of the answer. It returns when the client has room for more. Fails with `cancelled` when the client
   * has gone.
   */
  send(bytes: Base64): void;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface OutputCalls {
  'output.write': { readonly args: readonly [chunk: string]; readonly value: undefined };
  'output.forward': { readonly args: readonly [source: number]; readonly value: undefined };
  'output.begin': { readonly args: readonly [head: AnswerHead]; readonly value: undefined };
  'output.send': { readonly args: readonly [bytes: Base64]; readonly value: undefined };
}
