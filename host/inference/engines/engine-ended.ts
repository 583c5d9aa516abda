import { type AanaError, fail } from '../../base/core/errors.ts';

/** Ends this replica's process. The host then starts another one and repeats the calls that have sent no value yet. */
export function endProcess(reason: string): void {
  setImmediate(() => {
    throw engineEnded(reason);
  });
}

/** Returns the error for an engine that can serve no more requests. */
export const engineEnded = (reason: string): AanaError => fail('EngineEnded', reason);
