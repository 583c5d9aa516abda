import type { NamedLimits } from '../rights/limits.ts';

/** The state of a plugin, for operators. */
export interface PluginState {
  readonly name: string;
  readonly state: 'running' | 'failed';
  readonly error: string | null;
  readonly source: string;
  readonly version: string | null;
  readonly digest: string | null;
  readonly endpoints: string[];
  readonly limits: NamedLimits | null;
  readonly counters: {
    readonly running: number;
    readonly queued: number;
    readonly done: number;
    readonly failed: Record<string, number>;
    readonly cpu_ms: number;
  };
  readonly draining: number;
}

export interface ReloadOutcome {
  readonly name: string;
  readonly outcome: 'reloaded' | 'failed' | 'removed';
  /** The version that serves, or the reason why there is no newer one. */
  readonly detail: string;
}
