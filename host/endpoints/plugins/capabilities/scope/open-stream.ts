import type { CapabilityScope } from './scope.ts';
import { ValueStream } from './value-stream.ts';

/** Calls a streaming method of a deployment. Returns the handle of the stream. */
export function openStream(
  scope: CapabilityScope,
  deployment: string,
  method: string,
  args: Record<string, unknown>,
): number {
  const abort = new AbortController();
  const signal = AbortSignal.any([abort.signal, scope.signal]);
  const values = scope.deployment(deployment).stream(method, args, scope.streamOptions(signal));
  return scope.keep({ kind: 'stream', stream: new ValueStream(values, abort) });
}
