import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deferred } from '../../../base/core/deferred.ts';
import { AanaError, type ErrorRecord, fromErrorRecord } from '../../../base/core/errors.ts';
import { runContained, type RunContainedResult } from '../../../base/processes/index.ts';
import { type PluginManifest, pluginLoadError } from '../set/manifest.ts';
import type { MadeComponent, Workshop } from './make-component.ts';

/** What the process of a build finds in its folder. */
export interface BuildStart {
  readonly workshop: Workshop;
  /** A plugin that is bundled once while the process waits, because the first bundle takes longer than later ones. */
  readonly rehearse?: PluginManifest | undefined;
}

export interface BuildPlace {
  /** The folder of the plugin. */
  readonly dir: string;
  /** A folder for the build. It is created, and removed by `finish` and `stop`. */
  readonly folder: string;
  readonly limits: BuildLimits;
}

/** The result that it leaves there. The component is a separate file. */
export type BuildOutcome = { readonly made: Omit<MadeComponent, 'component'> } | { readonly error: ErrorRecord };

export const buildFiles = (folder: string) => ({
  start: join(folder, 'start.json'),
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
 * The build of a plugin's component in a child process that ends with this process. It is a process, because bundling
 * reads code of the plugin's author and compiling runs it. The process begins with what is the same for each bundle.
 */
export class ContainedBuild {
  readonly #folder: string;
  readonly #limits: BuildLimits;
  readonly #manifest = deferred<string>();
  readonly #ending = new AbortController();
  readonly #ended: Promise<RunContainedResult>;
  #hasEnded = false;

  private constructor(folder: string, dir: string, limits: BuildLimits) {
    this.#folder = folder;
    this.#limits = limits;
    this.#ended = runContained(process.execPath, [PROGRAM, folder], {
      residentBytes: limits.memory_bytes,
      input: this.#manifest.promise,
      ownGroup: true,
      graceMs: 0,
      cwd: dir,
      env: {},
      signal: this.#ending.signal,
    });
    const onEnd = (): void => {
      this.#hasEnded = true;
    };
    this.#ended.then(onEnd, onEnd); // `finish` reports errors
  }

  /** Starts the process. It waits for `finish`. */
  static async begin({ folder, dir, limits, ...start }: BuildStart & BuildPlace): Promise<ContainedBuild> {
    await rm(folder, { recursive: true, force: true }); // left by a host that was killed
    await mkdir(folder);
    await writeFile(buildFiles(folder).start, JSON.stringify(start));
    return new ContainedBuild(folder, dir, limits);
  }

  /** Whether its process has ended. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Throws `PluginLoadError` with the error of the build or with the limit that it reached. */
  async finish(manifest: PluginManifest, signal?: AbortSignal): Promise<MadeComponent> {
    const { name } = manifest;
    const { timeout_s: seconds, memory_bytes: bytes } = this.#limits;
    const onAbort = (): void => this.#ending.abort(signal?.reason);
    const onTimeout = (): void =>
      this.#ending.abort(
        pluginLoadError(name, `cannot be built: it takes longer than plugin_builds.timeout_s (${seconds} s)`),
      );
    const timer = setTimeout(onTimeout, seconds * 1000);
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#manifest.resolve(JSON.stringify(manifest));
    const files = buildFiles(this.#folder);
    try {
      const result = await this.#ended.catch((cause: unknown) => {
        if (!(cause instanceof AanaError && cause.name === 'ProcessMemoryTooLarge')) throw cause;
        throw pluginLoadError(
          name,
          `cannot be built: it takes more memory than plugin_builds.memory_bytes (${Math.round(bytes / 2 ** 20)} MiB)`,
          cause,
        );
      });
      const outcome = await readFile(files.outcome, 'utf8').then(
        (text) => JSON.parse(text) as BuildOutcome,
        () => undefined,
      );
      if (result.code !== 0 || outcome === undefined) throw pluginLoadError(name, `cannot be built: ${endOf(result)}`);
      if ('error' in outcome) throw fromErrorRecord(outcome.error);
      return { ...outcome.made, component: await readFile(files.component) };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      await this.stop();
    }
  }

  /** Ends the process and removes its folder. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#ended.catch(() => {});
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function endOf({ code, signal, stderr }: RunContainedResult): string {
  const said = stderr.trim().split('\n').at(-1);
  return `its build ended with ${signal ?? code}${said ? `: ${said.slice(0, 300)}` : ''}`;
}
