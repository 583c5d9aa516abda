import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AanaError, type ErrorRecord, fromErrorRecord } from '../../../base/core/errors.ts';
import { runContained, type RunContainedResult } from '../../../base/processes/index.ts';
import { type PluginManifest, pluginLoadError } from '../set/manifest.ts';
import type { MadeComponent, Workshop } from './make-component.ts';

/** The request that the process of a build finds in its folder. */
export interface BuildRequest {
  readonly manifest: PluginManifest;
  readonly workshop: Workshop;
}

/** The result that it leaves there. The component is a separate file. */
export type BuildOutcome = { readonly made: Omit<MadeComponent, 'component'> } | { readonly error: ErrorRecord };

export const buildFiles = (folder: string) => ({
  request: join(folder, 'request.json'),
  outcome: join(folder, 'outcome.json'),
  component: join(folder, 'component.wasm'),
});

/** Limits of a build, by their names in the configuration (`plugin_builds`). */
export interface BuildLimits {
  /** Seconds. */
  readonly timeout_s: number;
  /** Maximum bytes of resident memory. Checked on Linux only. */
  readonly memory_bytes: number;
}

/** Generous limits: a build takes seconds and some hundred MB, but a machine may be slow and sources may be many. */
export const defaultBuildLimits: BuildLimits = { timeout_s: 120, memory_bytes: 2 ** 31 };
const PROGRAM = fileURLToPath(new URL('./main.js', import.meta.url));

/**
 * Builds a plugin's component in a child process that ends with this process, because bundling reads code of the
 * plugin's author and compiling runs it. `folder` is created and removed. Throws `PluginLoadError` with the error of
 * the build or with the limit that it reached.
 */
export async function containedBuild(
  request: BuildRequest,
  folder: string,
  limits: BuildLimits,
  signal: AbortSignal | undefined,
): Promise<MadeComponent> {
  const { name, dir } = request.manifest;
  const files = buildFiles(folder);
  await rm(folder, { recursive: true, force: true }); // left by a host that was killed
  await mkdir(folder);
  try {
    await writeFile(files.request, JSON.stringify(request));
    const result = await runContained(process.execPath, [PROGRAM, folder], {
      residentBytes: limits.memory_bytes,
      timeoutMs: limits.timeout_s * 1000,
      ownGroup: true,
      graceMs: 0,
      cwd: dir,
      env: {},
      signal,
    }).catch((cause: unknown) => {
      if (!(cause instanceof AanaError)) throw cause;
      if (cause.name === 'ProcessTimeout')
        throw pluginLoadError(
          name,
          `cannot be built: it takes longer than plugin_builds.timeout_s (${limits.timeout_s} s)`,
          cause,
        );
      if (cause.name === 'ProcessMemoryTooLarge')
        throw pluginLoadError(
          name,
          `cannot be built: it takes more memory than plugin_builds.memory_bytes ` +
            `(${Math.round(limits.memory_bytes / 2 ** 20)} MiB)`,
          cause,
        );
      throw cause;
    });
    const outcome = await readFile(files.outcome, 'utf8').then(
      (text) => JSON.parse(text) as BuildOutcome,
      () => undefined,
    );
    if (result.code !== 0 || outcome === undefined) throw pluginLoadError(name, `cannot be built: ${endOf(result)}`);
    if ('error' in outcome) throw fromErrorRecord(outcome.error);
    return { ...outcome.made, component: await readFile(files.component) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function endOf({ code, signal, stderr }: RunContainedResult): string {
  const said = stderr.trim().split('\n').at(-1);
  return `its build ended with ${signal ?? code}${said ? `: ${said.slice(0, 300)}` : ''}`;
}
