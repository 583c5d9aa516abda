import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Logger } from '../../../base/core/log/logger.ts';
import { isComponentFile } from './manifest.ts';

/**
 * Milliseconds to wait for further changes. They come in bursts: an editor writes twice, a build removes and renames.
 */
const settleMs = 50;
const skipped = new Set(['node_modules', '.git']);
/** Files that a build writes beside a component: lock, stamp, map and temporary files. */
const isByproduct = (name: string): boolean => name.includes('.wasm.');

interface Watched {
  watchers: FSWatcher[];
  timer: NodeJS.Timeout | undefined;
}

/** Reports changes in plugin folders and component files, once for each burst. */
export class PluginWatch {
  readonly #onChange: (source: string) => void;
  readonly #log: Logger;
  readonly #watched = new Map<string, Watched>();

  constructor(onChange: (source: string) => void, log: Logger) {
    this.#onChange = onChange;
    this.#log = log;
  }

  /** Watches exactly these sources. */
  follow(sources: readonly string[]): void {
    for (const [source, watched] of this.#watched) {
      if (sources.includes(source)) continue;
      stop(watched);
      this.#watched.delete(source);
    }
    for (const source of sources) {
      if (this.#watched.has(source)) continue;
      const watched: Watched = { watchers: [], timer: undefined };
      this.#watched.set(source, watched);
      this.#watch(source, watched);
    }
  }

  close(): void {
    this.follow([]);
  }

  #watch(source: string, watched: Watched): void {
    const changed = (): void => {
      clearTimeout(watched.timer);
      watched.timer = setTimeout(() => {
        stop(watched);
        this.#watch(source, watched); // folders may have been added or replaced
        this.#onChange(source);
      }, settleMs);
    };
    const open = (folder: string, concerns: (name: string) => boolean): void => {
      try {
        const watcher = watch(folder, (_event, name) => {
          if (name === null || concerns(name)) changed();
        });
        watcher.on('error', () => watcher.close()); // the folder was removed
        watched.watchers.push(watcher);
      } catch (error) {
        this.#log.warn('folder cannot be watched', { folder, error });
      }
    };
    open(dirname(source), (name) => name === basename(source));
    if (!isComponentFile(source)) for (const folder of foldersIn(source)) open(folder, (name) => !isByproduct(name));
  }
}

function stop({ watchers, timer }: Watched): void {
  clearTimeout(timer);
  for (const watcher of watchers.splice(0)) watcher.close();
}

/** Returns the folder and all folders in it that exist. */
function foldersIn(folder: string): string[] {
  try {
    const inside = readdirSync(folder, { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && !skipped.has(entry.name) && !isByproduct(entry.name),
    );
    return [folder, ...inside.flatMap(({ name }) => foldersIn(join(folder, name)))];
  } catch {
    return [];
  }
}
