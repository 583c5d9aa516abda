import { createHash } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomSuffix } from '../../../base/core/ids.ts';
import { markUsed, tidyFolder } from '../sandbox/code-folder.ts';

const digestOf = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest();
const DIGEST_BYTES = 32;

/**
 * What earlier builds have made of the same texts. The same text gives the same component, byte for byte, which its
 * compiled code is kept for. The compiler itself gives a component that differs in a few bytes each time.
 */
export class KeptBuilds {
  readonly #folder: string | undefined;

  /** @param folder a folder that only this user can write to, or undefined to keep nothing */
  constructor(folder: string | undefined) {
    this.#folder = folder;
  }

  /** Returns what was made of these texts before, or makes it. A folder that cannot be used is no error. */
  async make(texts: readonly string[], make: () => Promise<Uint8Array>): Promise<Uint8Array> {
    if (this.#folder === undefined) return make();
    const file = join(this.#folder, `${digestOf(JSON.stringify(texts)).toString('hex')}.built`);
    const kept = await readFile(file).catch(() => undefined);
    const made = kept?.subarray(DIGEST_BYTES);
    if (kept && made && digestOf(made).equals(kept.subarray(0, DIGEST_BYTES))) {
      await markUsed(file);
      return made;
    }
    const bytes = await make();
    const temporary = join(this.#folder, `.built.${randomSuffix()}`);
    try {
      await tidyFolder(this.#folder);
      await writeFile(temporary, Buffer.concat([digestOf(bytes), bytes]), { flag: 'wx', mode: 0o600 });
      await rename(temporary, file);
    } catch {
      await rm(temporary, { force: true }).catch(() => {});
    }
    return bytes;
  }
}
