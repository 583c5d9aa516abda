import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { generatedTypes, typesDir } from './generate-types.ts';

const GeneratedTypes = suite('types of the world');

GeneratedTypes(
  'the committed declarations are those of wit/world.wit (else run: node dist/host/plugins/build/generate-types.js)',
  async () => {
    const expected = await generatedTypes();
    const committed = (await readdir(typesDir, { recursive: true })).filter((path) => path.endsWith('.d.ts'));
    assert.equal(committed.sort(), [...expected.keys()].sort());
    for (const [path, text] of expected) assert.is(await readFile(join(typesDir, path), 'utf8'), text, path);
  },
);

GeneratedTypes.run();
