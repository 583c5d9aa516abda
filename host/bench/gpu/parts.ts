import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** An archive that is delivered in parts, as in a line of `archives.txt`. */
export interface Archive {
  readonly name: string;
  readonly sha256: string;
  readonly parts: number;
}

/** Writes `<name>.000`, `<name>.001`, … of at most `maxBytes` each into a folder. `unpack.sh` joins them. */
export function splitFile(path: string, folder: string, maxBytes: number): Archive {
  const hash = createHash('sha256');
  const name = basename(path);
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(maxBytes);
    let parts = 0;
    for (let bytes = readSync(file, buffer); bytes > 0; bytes = readSync(file, buffer)) {
      hash.update(buffer.subarray(0, bytes));
      writeFileSync(join(folder, `${name}.${String(parts).padStart(3, '0')}`), buffer.subarray(0, bytes));
      parts += 1;
    }
    return { name, sha256: hash.digest('hex'), parts };
  } finally {
    closeSync(file);
  }
}

/** Returns the text of `archives.txt`. */
export function archivesText(archives: readonly Archive[]): string {
  return archives.map(({ name, sha256, parts }) => `${sha256} ${parts} ${name}\n`).join('');
}
