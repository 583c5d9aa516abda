import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { worldFunctions } from '../../../../wit/generated/world/functions.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { generatedDir, generatedFiles } from './generate.ts';

const Generated = suite('files made from the world');

Generated('the committed files are those of wit/world.wit (else run: npm run generate)', async () => {
  const expected = await generatedFiles();
  const committed = (await readdir(generatedDir, { recursive: true })).filter((path) => path.endsWith('.ts'));
  assert.equal(committed.sort(), [...expected.keys()].sort());
  for (const [path, text] of expected) assert.is(await readFile(join(generatedDir, path), 'utf8'), text, path);
});

/** How the bindings that are written by hand name an import. */
const handwritten: Readonly<Record<string, (name: string, fn: string) => readonly string[]>> = {
  'wit/c/aana_plugin.h': (name, fn) => [`AANA_IMPORT("${name}", "${fn}")`],
  'wit/rust/aana_plugin.rs': (_name, fn) => [`link_name = "${fn}"`, `pub(super) fn ${fn}(`],
};

for (const [file, spellings] of Object.entries(handwritten))
  Generated(`${file} has every function of the world`, async () => {
    const text = await readFile(join(packageRoot, file), 'utf8');
    const missing = Object.entries(worldFunctions).flatMap(([name, functions]) =>
      functions
        .filter((fn) => !spellings(name, fn.name).some((spelling) => text.includes(spelling)))
        .map((fn) => `${name} ${fn.name}`),
    );
    assert.equal(missing, []);
  });

Generated.run();
