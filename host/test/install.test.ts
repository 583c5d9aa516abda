import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../base/core/package-root.ts';

const run = promisify(execFile);

const { installDependencies } = (await import(pathToFileURL(join(packageRoot, 'host/bootstrap/install.mjs')).href)) as {
  installDependencies: (root: string, options: { readonly forTests: boolean }) => Promise<void>;
};

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

Install('the lock file has a placeholder for the registry, which npm replaces', async () => {
  const lock = await readFile(join(packageRoot, 'package-lock.json'), 'utf8');
  const hosts = new Set([...lock.matchAll(/"resolved": "https?:\/\/([^/]+)/g)].map(([, host]) => host));
  assert.equal([...hosts], ['registry.invalid']);
  assert.match(await readFile(join(packageRoot, '.npmrc'), 'utf8'), /^replace-registry-host=registry\.invalid$/m);
});

Install('every dependency has an exact version', async () => {
  const manifest = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8'));
  const ranges = Object.entries({
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...manifest.optionalDependencies,
  }).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$|^file:tools\//.test(String(version)));
  assert.equal(ranges, []);
});

Install('a start in a clean copy gets what it needs, and downloads less than 50 MB', async () => {
  const copy = await mkdtemp(join(tmpdir(), 'aana-install-'));
  try {
    for (const file of ['package.json', 'package-lock.json', '.npmrc'])
      await cp(join(packageRoot, file), join(copy, file));
    process.env['npm_config_cache'] = join(copy, 'cache');
    await installDependencies(copy, { forTests: false });
    const koa = JSON.parse(await readFile(join(copy, 'node_modules/koa/package.json'), 'utf8'));
    const manifest = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8'));
    assert.is(koa.version, manifest.dependencies.koa);
    assert.not(existsSync(join(copy, 'node_modules/typescript')));
    const bytes = await downloadedBytes(join(copy, 'cache/_cacache/content-v2'));
    assert.ok(bytes < 50e6, `${bytes} bytes`);
  } finally {
    delete process.env['npm_config_cache'];
    await rm(copy, { recursive: true, force: true });
  }
});

Install('development packages come with the tests, and a start keeps them', async () => {
  const copy = await mkdtemp(join(tmpdir(), 'aana-install-'));
  /** Writes the manifest and its lock file. */
  const write = async (version: string): Promise<void> => {
    const manifest = {
      name: 'copy',
      version,
      dependencies: { used: 'file:used-1.0.0.tgz' },
      devDependencies: { tester: 'file:tester-1.0.0.tgz' },
    };
    await writeFile(join(copy, 'package.json'), JSON.stringify(manifest));
    await run('npm', ['install', '--package-lock-only', '--offline', '--no-audit'], { cwd: copy });
  };
  /** Returns the installed packages, and when they were installed. */
  const install = async (forTests: boolean): Promise<{ names: string[]; at: number }> => {
    await installDependencies(copy, { forTests });
    const names = (await readdir(join(copy, 'node_modules'))).filter((name) => !name.startsWith('.'));
    return { names, at: (await stat(join(copy, 'node_modules/.package-lock.json'))).mtimeMs };
  };
  try {
    for (const name of ['used', 'tester']) {
      await mkdir(join(copy, name));
      await writeFile(join(copy, name, 'package.json'), JSON.stringify({ name, version: '1.0.0' }));
      await run('npm', ['pack', `./${name}`], { cwd: copy });
    }
    await write('1.0.0');
    process.env['NODE_ENV'] = 'production'; // where npm omits them
    const started = await install(false);
    assert.equal(started.names, ['used']);
    assert.equal(await install(false), started);
    const tested = await install(true);
    assert.equal(tested.names, ['tester', 'used']);
    assert.equal(await install(true), tested);
    assert.equal(await install(false), tested);
    await write('2.0.0');
    const updated = await install(false);
    assert.equal(updated.names, tested.names);
    assert.ok(updated.at > tested.at, 'nothing was installed after a change of the lock file');
    await run('npm', ['ci', '--include=dev'], { cwd: copy });
    assert.equal((await install(false)).names, tested.names);
  } finally {
    delete process.env['NODE_ENV'];
    await rm(copy, { recursive: true, force: true });
  }
});

Install.run();
