import { raceAbort } from '../../base/core/abort.ts';
import { childEnvironment, type Config, loadConfig } from '../../base/config/index.ts';
import { packageVersion } from '../../base/core/package-root.ts';
import { type Check, type CheckResult, type CheckStatus, fail, ok, reasonOf } from './check.ts';
import { clockCheck } from './clock-check.ts';
import { databaseCheck } from './database-check.ts';
import { foldersCheck } from './folders-check.ts';
import { objectStoreCheck } from './object-store-check.ts';
import { portsCheck } from './ports-check.ts';
import { gpuCheck, openFilesCheck, processorsCheck } from './machine-checks.ts';
import { modelsCheck } from './models-check.ts';
import { sandboxCheck } from './sandbox-check.ts';
import { addonCheck, ffmpegCheck, nodeCheck } from './tool-checks.ts';

export interface DoctorReport {
  /** The worst status of all checks. */
  readonly status: CheckStatus;
  readonly version: string;
  readonly checks: readonly CheckResult[];
}

const CHECKS: readonly Check[] = [
  nodeCheck,
  addonCheck,
  sandboxCheck,
  ffmpegCheck,
  processorsCheck,
  gpuCheck,
  openFilesCheck,
  foldersCheck,
  clockCheck,
  databaseCheck,
  objectStoreCheck,
  portsCheck,
  modelsCheck,
];

/** Time limit of each check. */
const CHECK_TIMEOUT_MS = 60_000;

/**
 * Examines the machine and the configuration, and changes neither. Never rejects because of what it finds: a check that
 * breaks is a failed check. `load` returns the configuration or throws the reason why it is invalid; checks
 * that need it are then left out.
 */
export async function examine(load: () => Config, env: NodeJS.ProcessEnv): Promise<DoctorReport> {
  const { config, result } = configured(load, env);
  const context = { config, env: childEnvironment(config, env) };
  const possible = CHECKS.filter(({ needsConfig }) => result.status === 'ok' || !needsConfig);
  const results = await Promise.all(possible.map((check) => guarded(check, context)));
  const checks = [result, ...results.flat()];
  const status = (['fail', 'warn'] as const).find((worst) => checks.some((check) => check.status === worst)) ?? 'ok';
  return { status, version: packageVersion(), checks };
}

function configured(
  load: () => Config,
  { HOME, XDG_CACHE_HOME, XDG_DATA_HOME, XDG_RUNTIME_DIR }: NodeJS.ProcessEnv,
): { readonly config: Config; readonly result: CheckResult } {
  try {
    return { config: load(), result: ok('configuration', 'valid') };
  } catch (error) {
    return {
      // No folder has this name, so no other file is read.
      config: loadConfig({ cwd: '/\0', env: { HOME, XDG_CACHE_HOME, XDG_DATA_HOME, XDG_RUNTIME_DIR }, flags: {} }),
      result: fail(
        'configuration',
        reasonOf(error),
        'correct it and run this command again, because further checks need it',
      ),
    };
  }
}

async function guarded(
  check: Check,
  context: { readonly config: Config; readonly env: NodeJS.ProcessEnv },
): Promise<readonly CheckResult[]> {
  const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
  try {
    return await raceAbort(check.run({ ...context, signal }), signal);
  } catch (error) {
    return signal.aborted
      ? [fail(check.name, `no result after ${CHECK_TIMEOUT_MS / 1000} s`, 'see whether a disk or a device hangs')]
      : [fail(check.name, reasonOf(error), 'this check failed itself; the reason may help')];
  }
}

const WIDEST_NAME = 24;

/** Returns the report for people: a line for each check, and one for what to do. */
export function doctorText({ status, version, checks }: DoctorReport): string {
  const lines = checks.map(
    ({ name, status: its, found, advice }) =>
      `${its.padEnd(4)}  ${name.padEnd(WIDEST_NAME)}  ` +
      `${found}\n${advice === undefined ? '' : `      ${' '.repeat(WIDEST_NAME)}  → ${advice}\n`}`,
  );
  const count = (wanted: CheckStatus): number => checks.filter((check) => check.status === wanted).length;
  const warnings = count('warn');
  return (
    `${lines.join('')}\naana-host ${version}: ${status}, ${count('fail')} failed, ${warnings} ` +
    `${warnings === 1 ? 'warning' : 'warnings'}\n`
  );
}
