import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { generateGuestTypes, generateHostTypes } from '@bytecodealliance/jco-transpile';
import { packageRoot } from '../../core/package-root.ts';

/**
 * Where the committed declarations of the world lie: `guest/`, the imports as plugin sources see them; `host/`, what a
 * host gives.
 */
export const typesDir: string = join(packageRoot, 'wit', 'generated');

/** The declarations of `wit/world.wit`, by path below {@link typesDir}. */
export async function generatedTypes(): Promise<ReadonlyMap<string, string>> {
  const world = join(packageRoot, 'wit', 'world.wit');
  const options = { name: 'plugin', worldName: 'plugin' };
  const sides = { guest: await generateGuestTypes(world, options), host: await generateHostTypes(world, options) };
  return new Map(
    Object.entries(sides).flatMap(([side, files]) =>
      Object.entries(files).map(
        ([path, bytes]) =>
          [
            `${side}/${path}`,
            `// Generated from wit/world.wit; do not edit.\n${tidied(Buffer.from(bytes).toString())}\n`,
          ] as const,
      ),
    ),
  );
}

const tidied = (text: string): string => text.replace(/[ \t]+$/gm, '').trimEnd();

if (process.argv[1] !== undefined && resolve(process.argv[1]) === import.meta.filename) {
  await rm(typesDir, { recursive: true, force: true });
  for (const [path, text] of await generatedTypes()) {
    await mkdir(dirname(join(typesDir, path)), { recursive: true });
    await writeFile(join(typesDir, path), text);
  }
}
