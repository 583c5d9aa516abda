import type { NamedLimits } from '../rights/limits.ts';
import type { SettingState } from '../rights/plugin-settings.ts';

/** Rights by their names. In deployments and hosts, `*` stands for all. */
export interface PluginRightNames {
  readonly capabilities: readonly string[];
  readonly deployments: readonly string[];
  readonly hosts: readonly string[];
}

/** The state of a plugin, for operators. */
export interface PluginState {
  readonly name: string;
  /**
   * `idle`: a version serves, and the next request starts its process. `building`: a first version is built and loaded
   * while the host serves. `not_granted`: no version serves, because the operator does not grant a capability that the
   * newest one uses. `failed`: no version serves for another reason.
   */
  readonly state: 'running' | 'idle' | 'building' | 'not_granted' | 'failed';
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
    /** Calls of the host that were denied. */
    readonly denied: number;
    readonly cpu_ms: number;
  };
  readonly draining: number;
  /** Private memory of the process of the serving version; null if it does not run, or the system does not say. */
  readonly memory_bytes: number | null;
  /** What the kernel does not enforce for that process, in words; null if it does not run. */
  readonly missing_confinement: string[] | null;
  /** How often that process has ended unexpectedly; null if no version serves. */
  readonly restarts: number | null;
  /** What the serving version asks for, and what the operator grants; null if no version serves. */
  readonly rights: { readonly asks: PluginRightNames; readonly gets: PluginRightNames } | null;
  /** What the serving version declares, and how it is given now; null if no version serves. */
  readonly settings: SettingState[] | null;
}

export interface ReloadOutcome {
  readonly name: string;
  /** `skipped`: all plugins were to be loaded, and this one never served, because it lacks a grant. */
  readonly outcome: 'reloaded' | 'skipped' | 'failed' | 'removed';
  /** The version that serves, or the reason why there is no newer one. */
  readonly detail: string;
}
