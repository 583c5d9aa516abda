// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { Chunks } from './deployments.ts';

/** The interface `output` as a guest sees it. A function that fails throws the record `error`. */
export interface Output {
  /**
   * Sends one JSON value to the client. It may return before the client has received the value. Fails with `cancelled`
   * when the client has gone.
   */
  write(chunk: string): void;
  /** Sends all remaining values of a stream, without entering the guest for each one. */
  forward(source: Chunks): void;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface OutputCalls {
  'output.write': { readonly args: readonly [chunk: string]; readonly value: undefined };
  'output.forward': { readonly args: readonly [source: number]; readonly value: undefined };
}
