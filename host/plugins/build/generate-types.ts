import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { generateGuestTypes } from '@bytecodealliance/jco-transpile';
import { packageRoot } from '../../core/package-root.ts';

/** Where the committed declarations of the world lie. */
export const guestTypesDir: string = join(packageRoot, 'wit', 'generated', 'guest');

/** The declarations of `aana:host/*` that plugin sources are checked against, by path below {@link guestTypesDir}. */
export async function guestTypes(): Promise<ReadonlyMap<string, string>> {
  const files = await generateGuestTypes(join(packageRoot, 'wit', 'world.wit'), { name: 'plugin', worldName: 'plugin' });
  const lines = (text: string): string => text.replace(/[ \t]+$/gm, '').trimEnd();
  return new Map(Object.entries(files).map(([path, bytes]) => [path, `// Generated from wit/world.wit; do not edit.\n${lines(Buffer.from(bytes).toString())}\n`]));
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === import.meta.filename) {
  await rm(guestTypesDir, { recursive: true, force: true });
  for (const [path, text] of await guestTypes()) {
    await mkdir(dirname(join(guestTypesDir, path)), { recursive: true });
    await writeFile(join(guestTypesDir, path), text);
  }
}
