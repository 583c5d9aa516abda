import type { Deferred } from '../../../base/core/deferred.ts';
import type { Queued } from '../../../base/core/fair-queue.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { InvocationScope } from '../capabilities/scope/invocation-scope.ts';
import type { SandboxInvocation } from '../sandbox/index.ts';
import type { PluginInvocation } from './invocation.ts';
import type { InvocationRecord } from './plugin-telemetry.ts';

/** An invocation that the plugin's runtime has accepted. It waits for a place or runs. */
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
  /** Its run in the plugin's process. Undefined before and after it. */
  run: SandboxInvocation | undefined;
  /** Whether a process that had begun the invocation was lost, and the milliseconds that it had computed there. */
  wasLost: boolean;
  lostMs: number;
  /** Milliseconds that the guest has computed, as of the latest message, and the host for it. */
  cpuMs: number;
  /** The number of log lines so far. */
  lines: number;
  /** What the guest has printed last, because a language's runtime says there why it traps. */
  printed: string;
  /** The reason why the invocation must end. Undefined while it may go on. */
  ending: { readonly reason: unknown } | undefined;
  isSettled: boolean;
  /** Removes timers and listeners. */
  release: () => void;
}
