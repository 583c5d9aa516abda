import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { mkdir, open, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { loadBuildTools } from './build-tools.ts';
import { BUNDLE_NAME } from './source-positions.ts';

type Componentize = Awaited<ReturnType<typeof loadBuildTools>>['componentize'];

/** What the entry of the component imports, until the bundle is there. */
const NOT_THERE = `throw new Error('the bundle was read before it was written');`;

/**
 * A component that is made before its bundle is there. The compiler first compiles the interpreter, which takes most of
 * its time and is the same for each bundle. It then resolves the import of the bundle, for which it reads the
 * `package.json` beside it. This file is a pipe at first, so the compiler waits until the bundle is written.
 */
export class BegunComponent {
  readonly #bundle: string;
  readonly #pipe: string;
  readonly #begun: ReturnType<Componentize> | undefined;
  readonly #make: () => ReturnType<Componentize>;

  private constructor(folder: string, make: () => ReturnType<Componentize>, hasPipe: boolean) {
    this.#bundle = join(folder, BUNDLE_NAME);
    this.#pipe = join(folder, 'package.json');
    this.#make = make;
    if (!hasPipe) return;
    this.#begun = make();
    this.#begun.catch(() => {}); // `finish` reports it
  }

  /** `folder` is created, in an existing folder. */
  static async begin(componentize: Componentize, witPath: string, folder: string): Promise<BegunComponent> {
    const entry = join(folder, 'entry.js');
    await mkdir(folder);
    await writeFile(entry, '');
    await writeFile(join(folder, BUNDLE_NAME), NOT_THERE);
    const hasPipe = await promisify(execFile)('mkfifo', [join(folder, 'package.json')]).then(
      () => true,
      () => false, // the compiler then begins when the bundle is there
    );
    const make = () =>
      componentize({
        ...{ witPath, world: 'plugin', sync: true },
        ...{ jsSource: `export * from './${BUNDLE_NAME}';`, jsPath: entry, moduleRoot: folder },
      });
    return new BegunComponent(folder, make, hasPipe);
  }

  /** Makes the component of a bundle. Rejects when the top level of the bundle fails. */
  async finish(code: string): Promise<Uint8Array> {
    await writeFile(this.#bundle, code);
    if (!this.#begun) return (await this.#make()).component;
    const begun = this.#begun;
    const goesOn = this.#letGoOn();
    try {
      return (await Promise.race([begun, goesOn.then(() => begun)])).component;
    } finally {
      // A compiler that has failed before does not open the pipe. Its writer would wait for ever.
      const reader = await open(this.#pipe, constants.O_RDONLY | constants.O_NONBLOCK);
      await goesOn.catch(() => {});
      await reader.close();
    }
  }

  async #letGoOn(): Promise<void> {
    const pipe = await open(this.#pipe, 'w'); // waits for the compiler
    const file = `${this.#pipe}.file`;
    await writeFile(file, '{}');
    await rename(file, this.#pipe); // for whoever reads it again
    await pipe.writeFile('{}');
    await pipe.close();
  }
}
