import { realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { packageRoot } from '../../../base/core/package-root.ts';

/** Folders of this package's bundle that only define things. A component contains what its plugin uses of them. */
export const PURE_FOLDERS: readonly string[] = ['schemas', 'transcripts', 'splitting'].map((name) =>
  join(packageRoot, 'bundle', 'host', 'base', name),
);
const SDK = join(packageRoot, 'bundle', 'host', 'endpoints', 'sdk');

/**
 * Decides which files may be bundled into a plugin: files of its folder, of packages that are installed there or in the
 * folders above, and of this package's SDK. Links are resolved first. A link from the plugin's folder to a place
 * outside is refused, because the plugin's author can create it. A link in a `node_modules` above is allowed, because
 * only the person who installs packages can create it.
 */
export class PluginFiles {
  readonly #dir: string;
  #real: Promise<string> | undefined;
  #roots: Promise<readonly string[]> | undefined;
  /** Packages that are linked from a `node_modules` above and lie elsewhere. */
  readonly #linked = new Set<string>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Whether the file may be bundled. `source` is its name in an import. A missing file may not. */
  async has(file: string, source = ''): Promise<boolean> {
    const real = await realOf(file);
    if (real === undefined) return false;
    this.#roots ??= this.#findRoots();
    return (
      [...(await this.#roots), ...this.#linked].some((root) => isInside(real, root)) || this.#isLinked(real, source)
    );
  }

  /** Whether the path is the plugin's folder or lies in it. */
  async isOwn(path: string): Promise<boolean> {
    const [real, own] = await Promise.all([realOf(path), this.#own()]);
    return real !== undefined && (real === own || isInside(real, own));
  }

  #own(): Promise<string> {
    this.#real ??= realpath(this.#dir);
    return this.#real;
  }

  async #findRoots(): Promise<readonly string[]> {
    const own = await this.#own();
    const modules = [...above(own), packageRoot, ...above(packageRoot)].map((folder) => join(folder, 'node_modules'));
    const real = await Promise.all([...modules, SDK, ...PURE_FOLDERS].map(realOf));
    return [own, ...real.filter((folder) => folder !== undefined)];
  }

  async #isLinked(file: string, source: string): Promise<boolean> {
    const [name] = /^(@[\w.-]+\/)?\w[\w.-]*/.exec(source) ?? [];
    if (name === undefined) return false;
    const folders = await Promise.all(
      above(await this.#own()).map((folder) => realOf(join(folder, 'node_modules', name))),
    );
    const found = folders.find((folder) => folder !== undefined && isInside(file, folder));
    if (found !== undefined) this.#linked.add(found);
    return found !== undefined;
  }
}

const realOf = (path: string): Promise<string | undefined> => realpath(path).catch(() => undefined);

/** Returns the parent folders, the nearest first. */
function above(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [] : [parent, ...above(parent)];
}

function isInside(path: string, folder: string): boolean {
  const rest = relative(folder, path);
  return rest !== '' && rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest);
}
