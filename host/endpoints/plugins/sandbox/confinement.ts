import { runContained } from '../../../base/processes/index.ts';
import { pluginLoadError } from '../set/manifest.ts';
import { firstCauses } from './compiled-code.ts';
import { type Confinement, readConfinement } from './sandbox-process.ts';

/** Milliseconds in which the program says what the kernel enforces. */
const REPORT_MS = 30_000;

/**
 * Starts the sandbox as if it ran a plugin, and returns what the kernel of this machine enforces for it. When the
 * sandbox cannot run here, returns the reason.
 */
export async function confinementHere(
  program: string,
  signal?: AbortSignal,
): Promise<Confinement | { readonly problem: string }> {
  const ended = await runContained(program, ['confinement'], { env: {}, signal, timeoutMs: REPORT_MS });
  if (ended.code === 0) return readConfinement(JSON.parse(ended.stdout.toString()));
  return { problem: `it ended with ${ended.signal ?? ended.code}: ${firstCauses(ended.stderr)}` };
}

/** Returns what the kernel does not enforce, in words for people. */
export function missingConfinement(confinement: Confinement): readonly string[] {
  return [
    ...(confinement.seccomp ? [] : ['no filter of system calls (seccomp)']),
    ...(confinement.landlock > 0 ? [] : ['no rules for files and networks (Landlock, from Linux 5.13 on)']),
    ...(confinement.noNewPrivileges ? [] : ['no ban on new privileges (no_new_privs)']),
    ...(confinement.memoryLimit ? [] : ['no limit of memory (RLIMIT_DATA)']),
  ];
}

/** Throws `PluginLoadError` when `wish` is `require` and the kernel does not enforce all of a plugin's confinement. */
export function requireConfinement(plugin: string, confinement: Confinement, wish: 'prefer' | 'require'): void {
  const missing = missingConfinement(confinement);
  if (wish === 'prefer' || missing.length === 0) return;
  throw pluginLoadError(
    plugin,
    `cannot be confined on this machine: its kernel offers ${missing.join(', ')}. To run plugins nevertheless, set ` +
      'plugin_confinement to prefer',
  );
}
