import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../base/core/package-root.ts';
import { addFiles, filesBelow } from './files.ts';
import { LLAMA_SOURCE, WHISPER_SOURCE } from './pins.ts';
import type { BuildMode } from './platform.ts';

const require = createRequire(join(packageRoot, 'package.json'));

/** Returns the folder of an installed package. */
export function packageFolder(name: string): string {
  return dirname(require.resolve(`${name}/package.json`));
}

/** Returns the SHA-256 of all inputs of the addon. If it is unchanged, there is nothing to build. */
export async function hashInputs(choice: { readonly platform: string; readonly mode: BuildMode }): Promise<string> {
  const hash = createHash('sha256');
  const versions = [LLAMA_SOURCE, WHISPER_SOURCE].map((source) => source.integrity);
  const napi = JSON.parse(await readFile(join(packageFolder('node-addon-api'), 'package.json'), 'utf8')) as {
    version: string;
  };
  hash.update(JSON.stringify({ ...choice, versions, napi: napi.version }));
  const folders = await Promise.all(
    ['native/src', 'native/cmake'].map((folder) => filesBelow(join(packageRoot, folder))),
  );
  // The sandbox of plugins is a program of its own.
  const own = folders.flat().filter((file) => !file.startsWith(join(packageRoot, 'native/src/sandbox/')));
  await addFiles(hash, packageRoot, [join(packageRoot, 'CMakeLists.txt'), ...own]);
  return hash.digest('hex');
}
