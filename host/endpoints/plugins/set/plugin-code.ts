import type { Capability } from '../capabilities/catalogue.ts';
import type { PluginLimits } from '../rights/limits.ts';
import type { SandboxProcess } from '../sandbox/index.ts';

/** A plugin's code that was read and checked. Nothing of it has run. */
export interface PluginCode {
  /** SHA-256 of the file, hexadecimal. */
  readonly digest: string;
  /** Imported interfaces, such as `aana:host/log@0.1.0`, or functions of an Extism plugin. */
  readonly imports: readonly string[];
  /**
   * Capabilities whose functions it imports. An interface that is imported only for its types does not count.
   */
  readonly uses: readonly Capability[];
  /** Maximum number of invocations at a time. */
  concurrency(limits: PluginLimits): number;
  /** Starts a process that runs it. Rejects with a `PluginLoadError`. */
  start(options: StartOptions): Promise<SandboxProcess>;
}

export interface StartOptions {
  readonly limits: PluginLimits;
  /** Runs at a time, those of helpers included. */
  readonly slots: number;
  /** Aborting it ends the process. */
  readonly signal: AbortSignal;
}

/** Milliseconds from the start of a process until it can run guests. */
export const startMs = 30_000;
