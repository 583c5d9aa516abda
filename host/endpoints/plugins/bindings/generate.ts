import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { generateGuestTypes } from '@bytecodealliance/jco-transpile';
import { packageRoot } from '../../../base/core/package-root.ts';
import { readWorld } from './read-world.ts';
import { callsFile, functionsFile, interfaceTypes } from './world-types.ts';

/**
 * Where the committed files of the world lie: `guest/` declares the modules that sources of plugins import; `world/` is
 * for the host and the SDK.
 */
export const generatedDir: string = join(packageRoot, 'wit', 'generated');

/** The files made from `wit/world.wit`, by path below {@link generatedDir}. */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  const path = join(packageRoot, 'wit', 'world.wit');
  const declarations = await generateGuestTypes(path, { name: 'plugin', worldName: 'plugin' });
  const world = readWorld(await readFile(path, 'utf8'));
  const files: [path: string, text: string][] = [
    ...Object.entries(declarations).map(([file, bytes]): [string, string] => [
      `guest/${file}`,
      Buffer.from(bytes).toString(),
    ]),
    ...world.map((each): [string, string] => [`world/${each.name}.ts`, interfaceTypes(world, each)]),
    ['world/calls.ts', callsFile(world)],
    ['world/functions.ts', functionsFile(world)],
  ];
  return new Map(
    files.map(([file, text]) => [
      file,
      `// Generated from wit/world.wit by \`npm run generate\`; do not edit.\n${tidied(text)}\n`,
    ]),
  );
}

const tidied = (text: string): string =>
  text
    .replace(/[ \t]+$/gm, '')
    .trimEnd()
    .replace(/^.{121,}$/gm, wrapped);

/** Returns a line of TypeScript, broken into lines of at most 120 columns. */
function wrapped(line: string): string {
  const indent = /^ */.exec(line)?.[0] ?? '';
  const comment = /^ *\/\*\* (.*) \*\/$/.exec(line)?.[1];
  if (comment !== undefined) return `${indent}/**\n${indent} * ${comment}\n${indent} */`;
  const broken: string[] = [];
  let rest = line;
  while (rest.length > 120) {
    const at = Math.max(rest.lastIndexOf(', ', 118) + 1, rest.lastIndexOf('; ', 118) + 1, rest.lastIndexOf(' | ', 119));
    broken.push(rest.slice(0, at));
    rest = `${indent}  ${rest.slice(at + 1)}`;
  }
  return [...broken, rest].join('\n');
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === import.meta.filename) {
  // Not `types.json`, which the sandbox writes.
  for (const folder of ['guest', 'world']) await rm(join(generatedDir, folder), { recursive: true, force: true });
  for (const [path, text] of await generatedFiles()) {
    await mkdir(dirname(join(generatedDir, path)), { recursive: true });
    await writeFile(join(generatedDir, path), text);
  }
}
