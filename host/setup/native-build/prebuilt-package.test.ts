import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writePrebuiltPackage } from './prebuilt-package.ts';

const Prebuilt = suite<{ work: string }>('writePrebuiltPackage');

Prebuilt.before.each(async (context) => {
  context.work = await mkdtemp(join(tmpdir(), 'aana-prebuilt-'));
  await mkdir(join(context.work, 'build'));
  await mkdir(join(context.work, 'sqlite3-abc'));
  await mkdir(join(context.work, 'sandbox-abc'));
  await writeFile(join(context.work, 'build', 'aana_native.node'), '\0GLIBC_2.34\0GLIBCXX_3.4.30\0');
  await writeFile(join(context.work, 'sandbox-abc', 'libwasmtime.so'), '\0GLIBC_2.28\0');
  await writeFile(join(context.work, 'sqlite3-abc', 'node_sqlite3.node'), '\0GLIBC_2.35\0GLIBCXX_3.4.29\0');
});
Prebuilt.after.each(({ work }) => rm(work, { recursive: true, force: true }));

async function manifestFor(work: string, platform: string): Promise<Record<string, unknown>> {
  const into = join(work, platform);
  const digest = await writePrebuiltPackage(into, platform, {
    addonFolder: join(work, 'build'),
    sqliteFolder: join(work, 'sqlite3-abc'),
    sandboxFolder: join(work, 'sandbox-abc'),
  });
  assert.match(digest, /^[0-9a-f]{64}$/);
  assert.equal((await readdir(into)).toSorted(), [
    'LICENSE',
    'NOTICE',
    'addon',
    'package.json',
    'sandbox-abc',
    'sqlite3-abc',
  ]);
  return JSON.parse(await readFile(join(into, 'package.json'), 'utf8')) as Record<string, unknown>;
}

Prebuilt('says for which processor and which libraries of Linux it is', async ({ work }) => {
  const { name, os, cpu, libc, config, description } = await manifestFor(work, 'linux-arm64');
  assert.equal([name, os, cpu, libc], ['@aana-host/linux-arm64', ['linux'], ['arm64'], ['glibc']]);
  assert.equal(config, { glibc: '2.35', glibcxx: '3.4.30' });
  assert.is(
    description,
    'The compiled addon of aana-host for linux-arm64, with glibc 2.35 and libstdc++ with GLIBCXX_3.4.30 or later.',
  );
});

Prebuilt('names no C library for macOS', async ({ work }) => {
  const { os, cpu, libc, config } = await manifestFor(work, 'darwin-arm64');
  assert.equal([os, cpu, libc, config], [['darwin'], ['arm64'], undefined, undefined]);
});

Prebuilt.run();
