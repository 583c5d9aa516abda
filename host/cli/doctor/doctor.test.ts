import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Config, type ConfigInput, loadConfig } from '../../base/config/index.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { sqliteModule } from '../../data/storage/fixtures/databases.ts';
import { migrate, openDatabase } from '../../data/storage/index.ts';
import { buildSandbox } from '../../setup/native-build/index.ts';
import { manifestPath, nativeAddonPath } from '../../../native/lib/index.ts';
import { startObjectServer } from '../../test/helpers/database/object-server.ts';
import { skip } from '../../test/skip.ts';
import type { Check, CheckResult } from './check.ts';
import { clockCheck, offsetResult } from './clock-check.ts';
import { databaseCheck } from './database-check.ts';
import { doctorText, examine } from './doctor.ts';
import { gpuCheck, openFilesResult, processorsCheck } from './machine-checks.ts';
import { modelsCheck } from './models-check.ts';
import { confinementResult, sandboxCheck } from './sandbox-check.ts';
import { objectStoreCheck } from './object-store-check.ts';
import { foldersCheck } from './folders-check.ts';
import { portsCheck } from './ports-check.ts';
import { ffmpegCheck, isAtLeast } from './tool-checks.ts';

const Doctor = suite('aana-host doctor');
let folder = '';

Doctor.before.each(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-doctor-'));
});
Doctor.after.each(() => rm(folder, { recursive: true, force: true }));

function configured(base: ConfigInput = {}): Config {
  return loadConfig({
    cwd: folder,
    env: {},
    base: {
      data_dir: join(folder, 'data'),
      cache_dir: join(folder, 'cache'),
      runtime_dir: join(folder, 'run'),
      media: { temp_dir: folder },
      port: 0,
      dashboard: { port: 0 },
      ...base,
    },
  });
}

async function run(check: Check, base?: ConfigInput): Promise<Record<string, CheckResult>> {
  const results = await check.run({
    config: configured(base),
    env: process.env,
    signal: AbortSignal.timeout(30_000),
  });
  return Object.fromEntries(results.map((result) => [result.name, result]));
}

function assertFails(result: CheckResult | undefined, found: RegExp, status = 'fail'): void {
  assert.is(result?.status, status, JSON.stringify(result));
  assert.match(result?.found ?? '', found);
  assert.ok((result?.advice ?? '').length > 10, 'it says what to do');
}

/** Creates a migrated database and returns its path. */
async function madeDatabase(change?: string): Promise<string> {
  const config = configured().db_config;
  const database = await openDatabase({ config, log: silentLogger, sqliteModule });
  await migrate(database);
  if (change !== undefined) await database.write((connection) => connection.script(change));
  await database.close();
  return config.datastore_config.path ?? '';
}

Doctor('finds nothing that fails on a fresh machine, and leaves nothing behind', async () => {
  const report = await examine(() => configured(), process.env);
  const failed = report.checks.filter(({ status }) => status === 'fail');
  assert.equal(
    failed.filter(({ name }) => !['native addon', 'ffmpeg', 'open files'].includes(name)), // machines differ in these
    [],
  );
  assert.equal(await readdir(folder), []);
  assert.match(doctorText(report), /\naana-host [\d.]+: \w+, \d failed, \d+ warnings?\n$/);
});

Doctor('names processors to which the configuration binds a deployment in vain', async () => {
  const deployment = { type: 'VadDeployment', cpu_affinity: '8000' };
  const results = await processorsCheck.run({
    config: configured({ deployments: { vad: deployment } }),
    env: {},
    signal: AbortSignal.timeout(30_000),
  });
  assert.match(results[0]?.found ?? '', /^\d+, with \d+ cores?/);
  assertFails(results[1], /^deployment vad: cpu_affinity: /);
  assert.is(results.length, 2);
});

const addon = nativeAddonPath(packageRoot);
if (existsSync(addon) && !readFileSync(manifestPath(addon), 'utf8').includes('gpu_backend')) {
  Doctor('says why a GPU of the driver cannot be used', async () => {
    const list = '0, GPU-aaaa1111, 81559, NVIDIA H100';
    await writeFile(join(folder, 'nvidia-smi'), `#!/bin/sh\necho '${list}'\n`, { mode: 0o755 });
    const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}`, CUDA_VISIBLE_DEVICES: undefined };
    const results = await gpuCheck.run({ config: configured(), env, signal: AbortSignal.timeout(30_000) });
    const found = results.filter(({ name }) => name.startsWith('gpu'));
    assert.is(found.length, 1);
    assertFails(found[0], /no backend for the GPUs of this machine \(NVIDIA H100\)$/, 'warn');
  });
} else skip('the doctor says why a GPU cannot be used', 'the native addon is not built, or has a backend for GPUs');

Doctor('reports an invalid configuration, and leaves out the checks that need it', async () => {
  const report = await examine(() => {
    throw new Error('"port" is wrong');
  }, process.env);
  assert.is(report.status, 'fail');
  assertFails(report.checks[0], /"port" is wrong/);
  assert.not.ok(report.checks.some(({ name }) => name === 'database' || name === 'port'));
});

Doctor('reports folders that cannot be used', async () => {
  await writeFile(join(folder, 'file'), '');
  const results = await run(foldersCheck, {
    data_dir: join(folder, 'file'),
    cache_dir: join(folder, 'file', 'below'),
    runtime_dir: join(folder, 'x'.repeat(300)),
  });
  assertFails(results['data_dir'], /is not a folder$/);
  assertFails(results['cache_dir'], /file is not a folder$/);
  assertFails(results['runtime_dir'], /cannot be used: ENAMETOOLONG/);
  assert.is(results['media.temp_dir']?.status, 'ok');
});

Doctor('names who listens on a port', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    const results = await run(portsCheck, { port, dashboard: { port } });
    const who = process.platform === 'linux' ? `process ${process.pid} \\(` : 'another program';
    assertFails(results['port'], new RegExp(`127.0.0.1:${port} is used by ${who}`));
    assertFails(results['dashboard.port'], /is used by/, 'warn');
  } finally {
    server.close();
  }
  assert.is((await run(portsCheck, { port }))['port']?.status, 'ok');
});

Doctor('reports addresses that cannot be used', async () => {
  assertFails((await run(portsCheck, { host: '192.0.2.1', port: 8000 }))['port'], /EADDRNOTAVAIL/);
  assertFails((await run(portsCheck, { listen: `unix:${folder}/none/a.sock` }))['listen'], /does not exist/);
  assertFails((await run(portsCheck, { listen: `unix:/${'a'.repeat(200)}` }))['listen'], /has 201 bytes/);
});

Doctor('reports how far a database is migrated, and a newer one', async () => {
  assert.match((await run(databaseCheck))['database']?.found ?? '', 'will be created');
  await madeDatabase();
  assert.match((await run(databaseCheck))['database']?.found ?? '', /migration (\d+) of \1$/);
  const row = (least: number): string =>
    `insert into aana_migrations values ('aana-host', 9999, 'future', 'x', ${least}, 0)`;
  await madeDatabase(row(1));
  assert.match(
    (await run(databaseCheck))['database']?.found ?? '',
    /migration 9999 of a newer version, which .* may use$/,
  );
  await rm(join(folder, 'data'), { recursive: true });
  await madeDatabase(row(9999));
  assertFails(
    (await run(databaseCheck))['database'],
    /it needs migration 9999 of aana-host, and this version ends with/,
  );
  await rm(join(folder, 'data'), { recursive: true });
  await madeDatabase("delete from aana_migrations where scope = 'aana-host'");
  assertFails((await run(databaseCheck))['database'], /migration 0 of \d+$/, 'warn');
});

Doctor('reports databases that are damaged or no databases', async () => {
  const path = await madeDatabase();
  const file = await open(path, 'r+');
  const { size } = await file.stat();
  await file.write(Buffer.alloc(size - 4096, 7), 0, size - 4096, 4096); // the first page stays
  await file.close();
  assertFails((await run(databaseCheck))['database'], /malformed|damaged/);
  await writeFile(path, 'this is no database, but a text'.repeat(1000));
  assertFails((await run(databaseCheck))['database'], /is no SQLite database/);
  await rm(path);
  await mkdir(path);
  assertFails((await run(databaseCheck))['database'], /is not a file/);
  const below = join(dirname(path), 'text', 'aana.db');
  await writeFile(dirname(below), '');
  assertFails(
    (await run(databaseCheck, { db_config: { datastore_config: { path: below } } }))['database'],
    /cannot be read: ENOTDIR/,
  );
});

Doctor('reports a PostgreSQL server that does not answer, without its password', async () => {
  const datastore_config = { host: '127.0.0.1', port: 9, password: 'very-secret' };
  const { database } = await run(databaseCheck, {
    db_config: { datastore_type: 'postgresql', datastore_config, connection_timeout: 1 },
  });
  assertFails(database, /127\.0\.0\.1/);
  assert.not.match(JSON.stringify(database), 'very-secret');
});

Doctor('reports a database from the future of the clock, and clocks that differ', async () => {
  const later = new Date(Date.now() + 86_400_000);
  await utimes(await madeDatabase(), later, later);
  assertFails((await run(clockCheck))['clock'], /but the database was written at/, 'warn');
  assert.is(offsetResult('it', 1000).status, 'ok');
  assertFails(offsetResult('it', -20_000), /20\.0 s ahead of it/, 'warn');
  assertFails(offsetResult('it', 3_600_000), /3600\.0 s behind it/);
});

Doctor('reports missing models, unknown types and invalid options', async () => {
  const asr = { type: 'WhisperDeployment', user_config: { model_size: 'tiny.en' } };
  const deployments = {
    asr,
    other: { type: 'NoSuchDeployment' },
    invalid: { type: 'WhisperDeployment', user_config: { sizes: 1 } },
    named: { type: 'LlamaTextGenerationDeployment', user_config: { model_id: 'gemma-3-4b' } },
    unknown: { type: 'LlamaTextGenerationDeployment', user_config: { model_id: 'gemma-3' } },
    file: { type: 'LlamaTextGenerationDeployment', user_config: { model_id: '/no/model.gguf' } },
    remote: {
      type: 'OpenAiTextGenerationDeployment',
      user_config: { base_url: 'http://127.0.0.1:1/v1', model: 'm' },
    },
  } as unknown as NonNullable<ConfigInput['deployments']>;
  const results = await run(modelsCheck, { deployments });
  assertFails(results['deployment asr'], /whisper-tiny\.en\S* is not on this machine/, 'warn');
  assertFails(results['deployment other'], /unknown type NoSuchDeployment/);
  assertFails(results['deployment invalid'], /sizes/);
  assertFails(results['deployment named'], /^gemma-3-4b is not on this machine; the start fetches it/, 'warn');
  assertFails(results['deployment unknown'], /there is no model "gemma-3": did you mean gemma-3-1b/);
  assertFails(results['deployment file'], /there is no model file \/no\/model\.gguf/);
  const offline = await run(modelsCheck, { deployments, models: { offline: true } });
  assertFails(offline['deployment asr'], /models\.offline forbids downloads/);
});

Doctor('reports a configured ffmpeg that does not run', async () => {
  assertFails(
    (await run(ffmpegCheck, { media: { ffmpeg_path: '/no/ffmpeg' } }))['ffmpeg'],
    /\/no\/ffmpeg does not run/,
  );
});

Doctor('starts the sandbox of plugins and says what the kernel enforces for it', async () => {
  await buildSandbox({ cacheDir: process.env['AANA_CACHE_DIR'] ?? join(packageRoot, '.aana'), log: silentLogger });
  const { found = '' } = (await run(sandboxCheck))['plugin sandbox'] ?? {};
  assert.match(found, /^runs/);
});

Doctor('reports a sandbox of plugins that does not run, or that is not confined', () => {
  const partial = { noNewPrivileges: true, seccomp: true, landlock: 0, memoryLimit: true };
  assert.is(confinementResult({ ...partial, landlock: 3 }, 'require').status, 'ok');
  assertFails(confinementResult(partial, 'prefer'), /Landlock/, 'warn');
  assertFails(confinementResult(partial, 'require'), /Landlock/);
  assertFails(confinementResult({ problem: 'it ended with SIGABRT' }, 'prefer'), /SIGABRT/);
});

Doctor('compares versions and limits as numbers', () => {
  assert.equal(
    ['20.19.0', '22.1.0', '20.9.0', '9.30.0'].map((version) => isAtLeast(version, '20.19')),
    [true, true, false, false],
  );
  assert.equal(
    [100, 1024, 20_000, Number.POSITIVE_INFINITY].map((limit) => openFilesResult(limit, 1000).status),
    ['fail', 'warn', 'ok', 'ok'],
  );
});

Doctor('exits with 1 and prints JSON when a check fails', async () => {
  await writeFile(join(folder, 'broken.json'), '{"port":');
  const child = spawn(
    process.execPath,
    [join(packageRoot, 'bundle/host/cli/main.js'), 'doctor', '--json', 'broken.json'],
    { cwd: folder, env: { PATH: process.env['PATH'], HOME: folder }, timeout: 60_000 },
  );
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  assert.is(code, 1);
  const { status, checks } = JSON.parse(out) as { status: string; checks: CheckResult[] };
  assert.is(status, 'fail');
  assertFails(checks[0], /broken\.json: invalid JSON/);
});

const server = await startObjectServer();
if (typeof server === 'string') skip('the object store', server);
else {
  Doctor.after(async () => server[Symbol.asyncDispose]());
  Doctor('says whether the object store can be used, and what time it has', async () => {
    assert.equal(await run(objectStoreCheck), {}, 'without a bucket there is nothing to say');
    await server.create('doctor');
    const settings = server.settings('doctor');
    const { object_store: store, clock } = await run(objectStoreCheck, { object_store: settings });
    assert.equal([store?.status, clock?.status], ['ok', 'ok'], JSON.stringify([store, clock]));
    const left = await (await fetch(`${server.url}/doctor`)).text();
    assert.not.match(left, /<Key>/, 'nothing stays');
    for (const [change, found] of [
      [{ url: 's3://missing' }, /NoSuchBucket/],
      [{ endpoint: 'http://127.0.0.1:1' }, /the object store s3:\/\/doctor\/hosts cannot be used/],
    ] as const)
      assertFails((await run(objectStoreCheck, { object_store: { ...settings, ...change } }))['object_store'], found);
  });
}

Doctor.run();
