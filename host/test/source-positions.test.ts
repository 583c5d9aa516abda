import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../base/core/package-root.ts';
import { withSourcePositions } from './source-positions.ts';

interface Place {
  readonly x: number;
}

const Positions = suite('positions in the output of tests');

Positions('are those of the sources', () => {
  const place: Place = { x: 1 };
  const { stack = '' } = new Error(`at ${place.x}`);
  const source = join(packageRoot, 'host/test/source-positions.test.ts');
  const lines = readFileSync(source, 'utf8').split('\n');
  const line = lines.findIndex((text) => text.includes('new Error(')) + 1;
  const column = lines[line - 1]!.indexOf('new Error(') + 1;
  assert.ok(withSourcePositions(stack).includes(`${source}:${line}:${column}`), withSourcePositions(stack));
});

Positions('stay where there is no source map', () => {
  const output = 'at a (/absent/a.js:1:2)\nat b (node:internal/b:3:4)\nsee http://127.0.0.1:80/a.js:1:2';
  assert.is(withSourcePositions(output), output);
});

Positions.run();
