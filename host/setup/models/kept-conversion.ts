import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { withFileLock } from '../packages/index.ts';
import type { ModelKind } from './catalogue/types.ts';
import { inspectStored, type Sidecar, writeSidecar } from './sidecar.ts';
import type { PullOptions, ResolvedModel } from './store.ts';

/** Folder of the models that this machine has written in another form. */
export const REQUANTIZED_FOLDER: string = path.join('models', 'requantized');

/** What is known of a file once it is written. */
export interface WrittenFile {
  readonly bytes: number;
  readonly sha256: string;
}

/** A model in another form, of which this machine writes one file. */
export interface Conversion {
  readonly id: string;
  readonly kind: ModelKind;
  /** What it is made from. */
  readonly source: string;
  readonly licence: string;
  /**
   * Writes the file as `making`. What lies at `whole` afterwards is removed, also after an error. It is called while no
   * other process writes the model.
   */
  write(making: string, whole: string): Promise<WrittenFile>;
}

/** Returns the model that is kept at `target`. It is written once; later calls find it. */
export async function keptConversion(
  target: string,
  { id, kind, source, licence, write }: Conversion,
  { signal, onProgress }: PullOptions,
): Promise<ResolvedModel> {
  await mkdir(path.dirname(target), { recursive: true });
  const onWait = (): void => onProgress?.(0, undefined, 'waiting for another process');
  return withFileLock(
    `${target}.lock`,
    async () => {
      const stored = await inspectStored(target);
      if (stored.state === 'present') return resolved(target, stored.sidecar);
      const [whole, making] = [`${target}.whole`, `${target}.making`];
      try {
        const { bytes, sha256 } = await write(making, whole);
        const verifiedAt = new Date().toISOString();
        const sidecar: Sidecar = { id, kind, bytes, sha256, source, licence, verified_at: verifiedAt };
        await writeSidecar(target, sidecar);
        await rename(making, target);
        return resolved(target, sidecar);
      } finally {
        for (const file of [whole, making]) await rm(file, { force: true });
      }
    },
    { signal, onWait },
  );
}

function resolved(file: string, { id, kind, bytes, sha256, licence, source }: Sidecar): ResolvedModel {
  return { id, kind, path: file, bytes, sha256, licence, source };
}
