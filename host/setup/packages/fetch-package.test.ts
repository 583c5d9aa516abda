import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as tar from 'tar';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { skip } from '../../test/skip.ts';
import { fetchPackage } from './fetch-package.ts';
import { makeZip } from './make-zip.test.fixture.ts';
import type { PackageSource } from './package-source.ts';

interface Context {
  dir: string;
  server: Server;
  requests: string[];
  tarball: Buffer;
  /** Whether the server withholds the tarball. */
  isSlow: boolean;
}

const hasPip = spawnSync('python3', ['-m', 'pip', '--version']).status === 0;
const npmSource: PackageSource = { registry: 'npm', name: '@aana-test/thing', version: '1.2.3' };
const wheelSource: PackageSource = { registry: 'pypi', name: 'aana-test-thing', version: '1.0.0' };

/** Starts a registry with one package, and configures npm to use it. */
async function startRegistry(context: Context): Promise<void> {
  const dir = await mkdtemp(path.join(tmpdir(), 'aana-fetch-'));
  await mkdir(path.join(dir, 'source', 'package'), { recursive: true });
  await writeFile(
    path.join(dir, 'source', 'package', 'package.json'),
    JSON.stringify({ name: npmSource.name, version: npmSource.version }),
  );
  await tar.create({ file: path.join(dir, 'thing.tgz'), gzip: true, cwd: path.join(dir, 'source') }, ['package']);
  const tarball = await readFile(path.join(dir, 'thing.tgz'));
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    if (request.url?.endsWith('.tgz')) {
      if (!context.isSlow) response.end(tarball);
    } else if (decodeURIComponent(request.url ?? '') === `/${npmSource.name}`) {
      const version = {
        name: npmSource.name,
        version: npmSource.version,
        dist: { tarball: `${base}/thing.tgz`, integrity: npmIntegrity(tarball) },
      };
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({ name: npmSource.name, 'dist-tags': { latest: '1.2.3' }, versions: { '1.2.3': version } }),
      );
    } else response.writeHead(404).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  Object.assign(context, { dir, server, requests, tarball, isSlow: false });
  process.env.npm_config_registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function npmIntegrity(data: Buffer): string {
  return `sha512-${createHash('sha512').update(data).digest('base64')}`;
}

function makeWheel(): Buffer {
  const info = 'aana_test_thing-1.0.0.dist-info';
  return makeZip({
    'aana_test_thing/data.bin': Buffer.from('weights'),
    [`${info}/METADATA`]: Buffer.from('Metadata-Version: 2.1\nName: aana-test-thing\nVersion: 1.0.0\n'),
    [`${info}/WHEEL`]: Buffer.from('Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n'),
    [`${info}/RECORD`]: Buffer.from(''),
  });
}

async function messageOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no error',
    (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error)),
  );
}

const Fetch = suite<Context>('fetchPackage');

Fetch.before.each(startRegistry);
Fetch.after.each(async ({ dir, server }) => {
  server.closeAllConnections();
  server.close();
  await rm(dir, { recursive: true, force: true });
});

Fetch(
  'npm: fetches from the configured registry once, verifies and keeps the archive',
  async ({ dir, tarball, requests }) => {
    const source = { ...npmSource, integrity: npmIntegrity(tarball) };
    const sizes: number[] = [];
    const options = { cacheDir: dir, log: silentLogger, onProgress: (bytes: number) => void sizes.push(bytes) };
    const file = await fetchPackage(source, options);
    assert.is(file, path.join(dir, 'packages', 'aana-test-thing-1.2.3.tgz'));
    assert.equal(await readFile(file), tarball);
    assert.is(sizes.at(-1), tarball.length);
    const asked = requests.length;
    assert.is(await fetchPackage(source, options), file);
    assert.is(requests.length, asked);
    assert.equal(await readdir(path.join(dir, 'packages')), [path.basename(file)]);
  },
);

Fetch('npm: several callers at once fetch a package once', async ({ dir, requests }) => {
  const options = { cacheDir: dir, log: silentLogger };
  await Promise.all([
    fetchPackage(npmSource, options),
    fetchPackage(npmSource, options),
    fetchPackage(npmSource, options),
  ]);
  assert.is(requests.filter((url) => url.endsWith('.tgz')).length, 1);
});

Fetch('npm: a changed archive in the cache is fetched again', async ({ dir, tarball }) => {
  const source = { ...npmSource, integrity: npmIntegrity(tarball) };
  const file = await fetchPackage(source, { cacheDir: dir, log: silentLogger });
  await writeFile(file, 'changed');
  await fetchPackage(source, { cacheDir: dir, log: silentLogger });
  assert.equal(await readFile(file), tarball);
});

Fetch('npm: a wrong checksum is an error and leaves no files', async ({ dir }) => {
  const source = { ...npmSource, integrity: npmIntegrity(Buffer.from('other')) };
  assert.match(
    await messageOf(fetchPackage(source, { cacheDir: dir, log: silentLogger })),
    /^DownloadFailed: npm:@aana-test\/thing@1\.2\.3 .*checksum differs/,
  );
  assert.equal(await readdir(path.join(dir, 'packages')), []);
});

Fetch('npm: a missing version is named in the error', async ({ dir }) => {
  const message = await messageOf(
    fetchPackage({ ...npmSource, version: '9.9.9' }, { cacheDir: dir, log: silentLogger }),
  );
  assert.match(message, /^DownloadFailed: npm:@aana-test\/thing@9\.9\.9 .*No matching version/);
});

Fetch('npm: a registry that refuses connections is named in the error', async ({ dir }) => {
  process.env.npm_config_registry = 'http://127.0.0.1:9/';
  assert.match(
    await messageOf(fetchPackage(npmSource, { cacheDir: dir, log: silentLogger })),
    /^DownloadFailed: .*ECONNREFUSED/,
  );
});

Fetch('npm: abort ends the client and leaves no files', async (context) => {
  context.isSlow = true;
  const reason = new Error('client went away');
  const controller = new AbortController();
  context.server.on('request', (request) => {
    if (request.url?.endsWith('.tgz')) controller.abort(reason);
  });
  const error = await fetchPackage(npmSource, {
    cacheDir: context.dir,
    log: silentLogger,
    signal: controller.signal,
  }).catch((thrown: unknown) => thrown);
  assert.is(error, reason);
  assert.equal(await readdir(path.join(context.dir, 'packages')), []);
});

if (hasPip) {
  Fetch('pypi: fetches the wheel with the configured settings and verifies it', async ({ dir }) => {
    const wheel = makeWheel();
    await mkdir(path.join(dir, 'wheels'));
    await writeFile(path.join(dir, 'wheels', 'aana_test_thing-1.0.0-py3-none-any.whl'), wheel);
    Object.assign(process.env, {
      PIP_CONFIG_FILE: '/dev/null',
      PIP_NO_INDEX: '1',
      PIP_FIND_LINKS: path.join(dir, 'wheels'),
    });
    const source = { ...wheelSource, integrity: createHash('sha256').update(wheel).digest('hex') };
    const file = await fetchPackage(source, { cacheDir: dir, log: silentLogger });
    assert.equal(await readFile(file), wheel);
    assert.equal(await readdir(path.join(dir, 'packages')), ['aana-test-thing-1.0.0.whl']);
    const message = await messageOf(
      fetchPackage({ ...wheelSource, version: '2.0.0' }, { cacheDir: dir, log: silentLogger }),
    );
    assert.match(message, /^DownloadFailed: pypi:aana-test-thing==2\.0\.0 .*No matching distribution/);
  });

  Fetch('pypi: an index that refuses connections is an error that says so', async ({ dir }) => {
    Object.assign(process.env, {
      PIP_CONFIG_FILE: '/dev/null',
      PIP_INDEX_URL: 'http://127.0.0.1:9/simple',
      PIP_FIND_LINKS: '',
    });
    delete process.env.PIP_NO_INDEX;
    assert.match(
      await messageOf(fetchPackage(wheelSource, { cacheDir: dir, log: silentLogger })),
      /^DownloadFailed: .*(cannot be reached|Connection refused)/,
    );
  });
} else {
  skip('fetchPackage from PyPI', 'python3 with pip is not installed');
}

Fetch.run();
