import { readFile } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sandbox } from '../../host/endpoints/plugins/sandbox/fixtures/serve-component.ts';
import { typesFile } from '../../host/endpoints/plugins/sandbox/component-types.ts';
import { typesOfWorld } from './types.ts';

const Types = suite('the types that the host offers');

Types('the committed texts are those of wit/world.wit and of WASI (else run: npm run build:sandbox)', async () => {
  assert.equal(JSON.parse(await readFile(typesFile, 'utf8')), await typesOfWorld(sandbox));
});

Types.run();
