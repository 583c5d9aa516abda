import type { Deferred } from '../../../base/core/deferred.ts';
import type { Queued } from '../../../base/core/fair-queue.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { InvocationScope } from '../capabilities/scope/invocation-scope.ts';
import type { PluginInvocation } from './invocation.ts';
import type { InvocationRecord } from './plugin-telemetry.ts';
import type { PluginWorker } from '../threads/plugin-worker.ts';

/** An invocation that the plugin's runtime has accepted. It waits for a thread or runs in one. */
export interface AcceptedInvocation extends Queued {
  readonly id: number;
  readonly request: PluginInvocation;
  readonly record: InvocationRecord;
  readonly log: Logger;
  readonly deadlineMs: number;
  /** As in the request context. */
  readonly deadlineAt: number;
  readonly settled: Deferred<string>;
  scope: InvocationScope;
  worker: PluginWorker | undefined;
  /** Whether a thread that had begun the invocation was lost. */
  wasLost: boolean;
  /** Milliseconds that the guest has computed, as of the latest message. */
  cpuMs: number;
  /** The reason why the invocation must end. Undefined while it may go on. */
  ending: { readonly reason: unknown } | undefined;
  isSettled: boolean;
  /** Removes timers and listeners. */
  release: () => void;
}
