import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { guestTypes, guestTypesDir } from './generate-types.ts';

const GuestTypes = suite('guest types');

GuestTypes('the committed declarations are those of wit/world.wit (else run: node dist/host/plugins/build/generate-types.js)', async () => {
  const expected = await guestTypes();
  const committed = (await readdir(guestTypesDir, { recursive: true })).filter((path) => path.endsWith('.d.ts'));
  assert.equal(committed.sort(), [...expected.keys()].sort());
  for (const [path, text] of expected) assert.is(await readFile(join(guestTypesDir, path), 'utf8'), text, path);
});

GuestTypes.run();
