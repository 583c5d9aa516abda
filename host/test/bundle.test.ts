import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../base/core/package-root.ts';

/** Folders whose files are not in the bundle, or not started by it. */
const OUTSIDE = /^(test|bench|bootstrap|endpoints\/sdk)\//;
const host = join(packageRoot, 'host');

/** Returns the files that modules of the host find beside them, by their paths below the package. */
function foundBeside(): string[] {
  const sources = readdirSync(host, { recursive: true, encoding: 'utf8' }).filter(
    (file) => /(?<!\.test|\.d)\.ts$/.test(file) && !OUTSIDE.test(file) && !file.includes('fixtures/'),
  );
  return sources.flatMap((file) =>
    [...readFileSync(join(host, file), 'utf8').matchAll(/new URL\('([^']+\.js)', import\.meta\.url\)/g)].map(
      ([, to = '']) => fileURLToPath(new URL(to, pathToFileURL(join(host, file)))).slice(packageRoot.length),
    ),
  );
}

/** What the package exports for Node. */
const ENTRIES = [
  'host/index.js',
  'host/inference/deployments/class/author.js',
  'host/endpoints/sdk/node.js',
  'host/endpoints/sdk/testing/testing.js',
];

const Bundle = suite('the bundle');

Bundle('has every file that a module of it starts', () => {
  const files = foundBeside();
  assert.ok(files.length > 10, 'the files were not found');
  assert.equal(
    files.filter((file) => !existsSync(join(packageRoot, 'bundle', file))),
    [],
  );
});

Bundle('exports what the compiled entry points export', async () => {
  for (const entry of ENTRIES) {
    const [bundled, compiled] = await Promise.all(
      ['bundle', 'dist'].map((folder) => import(pathToFileURL(join(packageRoot, folder, entry)).href)),
    );
    assert.equal(Object.keys(bundled as object).sort(), Object.keys(compiled as object).sort());
  }
});

Bundle('has the licence of each npm package of which it has code', () => {
  const licences = readFileSync(join(packageRoot, 'bundle/LICENSES.txt'), 'utf8');
  const maps = readdirSync(join(packageRoot, 'bundle'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.js.map'),
  );
  const sources = maps.flatMap(
    (file) => (JSON.parse(readFileSync(join(packageRoot, 'bundle', file), 'utf8')) as { sources: string[] }).sources,
  );
  const packages = sources.map((path) => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  const names = [...new Set(packages)].filter((name) => name !== undefined);
  assert.ok(names.includes('koa') && names.includes('zod'), 'the packages were not found');
  assert.equal(
    names.filter((name) => !new RegExp(`^${name} \\d.*\\(`, 'm').test(licences)),
    [],
  );
  assert.not.match(licences, /undefined/);
});

Bundle.run();
