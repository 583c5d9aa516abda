import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../core/errors.ts';
import { silentLogger } from '../core/logger.ts';
import { makeProcessFolder, prepareTempDir, ProcessFolder, removeStaleFolders } from './temp-folders.ts';

const Folders = suite('temporary folders');
const tempDir = mkdtempSync(join(tmpdir(), 'aana-test-'));
Folders.after(() => rmSync(tempDir, { recursive: true }));

Folders('removes those of dead processes alone', async () => {
  const dead = spawnSync(process.execPath, ['-e', '']).pid;
  const mine = await makeProcessFolder(tempDir);
  const stale = [`aana-host-${dead}-0123456789ab`, `aana-host-${process.pid}-0123456789ab`];
  const kept = [`aana-host-${process.ppid}-0123456789ab`, `aana-host-${dead}`, `aana-host-${dead}-x`, 'another', basename(mine)];
  for (const name of [...stale, ...kept]) {
    mkdirSync(join(tempDir, name, 'sub'), { recursive: true });
    writeFileSync(join(tempDir, name, 'sub', 'file'), 'x');
  }
  await removeStaleFolders(tempDir, silentLogger);
  for (const name of stale) assert.not.ok(existsSync(join(tempDir, name)), name);
  for (const name of kept) assert.ok(existsSync(join(tempDir, name, 'sub', 'file')), name);
});

Folders('are readable by their user alone', async () => {
  assert.is(statSync(await makeProcessFolder(tempDir)).mode & 0o777, 0o700);
});

Folders('may have no place yet', async () => {
  await removeStaleFolders(join(tempDir, 'not-yet'), silentLogger);
  assert.ok(existsSync(await makeProcessFolder(join(tempDir, 'not', 'yet'))));
});

Folders('are made when they are needed, once, and can be made again after a failure', async () => {
  const place = join(tempDir, 'file', 'in');
  const folder = new ProcessFolder(place);
  await folder.remove();
  writeFileSync(join(tempDir, 'file'), '');
  assert.is(await folder.path().catch(({ code }: NodeJS.ErrnoException) => code), 'ENOTDIR');
  rmSync(join(tempDir, 'file'));
  const path = await folder.path();
  assert.is(await folder.path(), path);
  writeFileSync(join(path, 'upload'), '');
  await folder.remove();
  assert.not.ok(existsSync(path));
});

Folders('are refused where none can be made, naming the setting', async () => {
  writeFileSync(join(tempDir, 'taken'), '');
  const places = [join(tempDir, 'taken'), join(tempDir, 'taken', 'in'), ...(existsSync('/proc/self') ? ['/proc/none', '/proc/none/in'] : [])];
  for (const place of places) {
    const error = await prepareTempDir(place).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof AanaError && error.name === 'ConfigError' && error.kind === 'invalid-input', place);
    assert.ok(error.message.startsWith(`media.temp_dir: ${place} cannot be used for temporary files (E`), error.message);
  }
  await prepareTempDir(join(tempDir, 'made', 'here'));
  await prepareTempDir(join(tempDir, 'made', 'here'));
  assert.ok(existsSync(join(tempDir, 'made', 'here')));
});

Folders.run();
