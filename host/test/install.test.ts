import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../core/package-root.ts';

const run = promisify(execFile);

/**
 * Returns the number of bytes that were transferred. Packages are already compressed; the registries' metadata (JSON)
 * is compressed for the transfer.
 */
async function downloadedBytes(cache: string): Promise<number> {
  let sum = 0;
  for (const entry of await readdir(cache, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const content = await readFile(join(entry.parentPath, entry.name));
    sum += content[0] === 0x1f && content[1] === 0x8b ? content.byteLength : gzipSync(content).byteLength;
  }
  return sum;
}

const Install = suite('installing');

Install('the lock file names no registry', async () => {
  assert.not.match(await readFile(join(packageRoot, 'package-lock.json'), 'utf8'), /"resolved": "https?:/);
});

Install('every dependency has an exact version', async () => {
  const manifest = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8'));
  const ranges = Object.entries({
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...manifest.optionalDependencies,
  }).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version)));
  assert.equal(ranges, []);
});

Install('npm ci accepts the lock file in a clean copy and downloads less than 140 MB', async () => {
  const copy = await mkdtemp(join(tmpdir(), 'aana-install-'));
  try {
    for (const file of ['package.json', 'package-lock.json', '.npmrc'])
      await cp(join(packageRoot, file), join(copy, file));
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--cache', join(copy, 'cache')], {
      cwd: copy,
      timeout: 280_000,
    });
    const shim = JSON.parse(
      await readFile(join(copy, 'node_modules/@bytecodealliance/preview2-shim/package.json'), 'utf8'),
    );
    assert.is(shim.version, '0.26.0');
    const bytes = await downloadedBytes(join(copy, 'cache/_cacache/content-v2'));
    assert.ok(bytes < 140e6, `${bytes} bytes`);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
});

Install.run();
