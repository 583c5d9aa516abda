import type { Config } from '../../base/config/index.ts';

export type CheckStatus = 'ok' | 'warn' | 'fail';

/** What the doctor found about one thing. */
export interface CheckResult {
  readonly name: string;
  readonly status: CheckStatus;
  /** What was found, in one sentence. */
  readonly found: string;
  /** What to do about it. Absent if nothing has to be done. */
  readonly advice?: string | undefined;
}

export interface CheckContext {
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

export interface Check {
  /** Stands for its results when it throws. */
  readonly name: string;
  /** Whether its results mean nothing without a valid configuration. */
  readonly needsConfig: boolean;
  run(context: CheckContext): Promise<readonly CheckResult[]>;
}

export const ok = (name: string, found: string): CheckResult => ({ name, status: 'ok', found });
export const warn = (name: string, found: string, advice: string): CheckResult => ({
  name,
  status: 'warn',
  found,
  advice,
});
export const fail = (name: string, found: string, advice: string): CheckResult => ({
  name,
  status: 'fail',
  found,
  advice,
});

/** Returns the message of anything that was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const GIB = 2 ** 30;
const MIB = 2 ** 20;

export function bytesText(bytes: number): string {
  return bytes >= GIB ? `${(bytes / GIB).toFixed(1)} GiB` : `${Math.floor(bytes / MIB)} MiB`;
}
