import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { type AanaError, fail } from '../../../../base/core/errors.ts';
import { DamagedOnnx, readExternalFiles } from '../../../../base/core/model-files/onnx.ts';
import type { PrepareContext } from '../../class/deployment-definition.ts';
import { withHeader } from '../header-file.ts';
import { pullModel } from '../pull-model.ts';

export interface OnnxFiles {
  readonly path: string;
  /** Bytes of the model with the files of weights that it names. */
  readonly bytes: number;
}

/** The id of a file of the hub: `owner/repo/folder/file`. */
const HUB_FILE = /^[\w-][\w.-]*(\/[\w-][\w.-]*){2,}$/;

/**
 * Fetches an ONNX model with the files of weights that it names. Throws `ModelFormatError`, which names the file, for
 * another file, and for a model that names a file outside of its folder or a missing one.
 */
export async function pullOnnxModel(id: string, context: PrepareContext): Promise<OnnxFiles> {
  const file = await pullModel(id, context);
  const locations = await withHeader(file, readExternalFiles).catch((error: unknown) => {
    throw error instanceof DamagedOnnx ? notUsable(file, error.message) : error;
  });
  const folder = await realpath(path.dirname(file));
  const isOfHub = HUB_FILE.test(id) && file !== path.resolve(id);
  let bytes = (await stat(file)).size;
  for (const location of locations) {
    if (isOfHub && !location.includes('/')) await pullModel(`${path.posix.dirname(id)}/${location}`, context);
    bytes += await externalBytes(file, folder, location);
  }
  return { path: file, bytes };
}

async function externalBytes(file: string, folder: string, location: string): Promise<number> {
  const named = JSON.stringify(location);
  const target = path.resolve(folder, location);
  const found = isInside(folder, target) ? await realpath(target).catch(() => undefined) : target;
  if (found !== undefined && (path.isAbsolute(location) || !isInside(folder, found)))
    throw notUsable(file, `it names the file of weights ${named}, which is outside of its folder`);
  const facts = found === undefined ? undefined : await stat(found);
  if (!facts?.isFile()) throw notUsable(file, `it names the file of weights ${named}, which is not in its folder`);
  return facts.size;
}

/** Returns whether a path lies below a folder. Both are absolute and normalized. */
const isInside = (folder: string, target: string): boolean => target.startsWith(folder + path.sep);

const notUsable = (file: string, reason: string): AanaError =>
  fail('ModelFormatError', `${path.basename(file)}: ${reason}`, { data: { file } });
