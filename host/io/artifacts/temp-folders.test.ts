import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../base/core/errors.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { skip } from '../../test/skip.ts';
import { makeProcessFolder, prepareTempDir, ProcessFolder, removeStaleFolders } from './temp-folders.ts';

const Folders = suite('temporary folders');
const ownerScript = fileURLToPath(new URL('fixtures/temp-folder-owner.js', import.meta.url));
const tempDir = mkdtempSync(join(tmpdir(), 'aana-test-'));
Folders.after(() => rmSync(tempDir, { recursive: true }));

Folders('are removed if their process is dead, or if it cannot be seen and they were unused for long', async () => {
  const dead = spawnSync(process.execPath, ['-e', '']).pid;
  const mine = await makeProcessFolder(tempDir);
  const [, , , space = ''] = basename(mine).split('-');
  const old = [`aana-host-${process.pid}-00000000-0123456789ab`, `aana-host-${process.pid}-0123456789ab`];
  const stale = [`aana-host-${dead}-${space}-0123456789ab`, `aana-host-${process.pid}-${space}-0123456789ab`, ...old];
  const unseen = [
    `aana-host-${dead}-00000000-0123456789ab`,
    `aana-host-${process.pid}-ffffffff-0123456789ab`,
    `aana-host-${dead}-0123456789ab`,
  ];
  const kept = [
    ...unseen,
    `aana-host-${process.ppid}-${space}-0123456789ab`,
    `aana-host-${dead}`,
    `aana-host-${dead}-x`,
    'another',
    basename(mine),
  ];
  for (const name of [...stale, ...kept]) {
    mkdirSync(join(tempDir, name, 'sub'), { recursive: true });
    writeFileSync(join(tempDir, name, 'sub', 'file'), 'x');
  }
  for (const name of old) utimesSync(join(tempDir, name), 1, 1);
  await removeStaleFolders(tempDir, silentLogger);
  for (const name of stale) assert.not.ok(existsSync(join(tempDir, name)), name);
  for (const name of kept) assert.ok(existsSync(join(tempDir, name, 'sub', 'file')), name);
});

const canUnshare =
  process.platform === 'linux' && spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'true']).status === 0;
if (!canUnshare) skip('folders of containers that share a volume', 'a namespace of processes cannot be made');
else {
  Folders('are not removed by a process of another container with the same pid', async () => {
    const shared = join(tempDir, 'volume');
    mkdirSync(shared);
    const start = async (): Promise<{ pid: string; folder: string; end: () => Promise<unknown> }> => {
      const child = spawn(
        'unshare',
        ['--pid', '--fork', '--kill-child', '--mount-proc', process.execPath, ownerScript, shared],
        { stdio: ['pipe', 'pipe', 'inherit'] },
      );
      const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
      const [pid = '', folder = ''] = line.trim().split(' ');
      return { pid, folder, end: () => (child.stdin.end(), once(child, 'exit')) };
    };
    const [first, second] = [await start(), await start()]; // each removes stale folders, then makes its own
    assert.equal([first.pid, second.pid], ['1', '1']);
    assert.equal(
      [first, second].map(({ folder }) => existsSync(folder)),
      [true, true],
    );
    await Promise.all([first.end(), second.end()]);
  });
}

Folders('are readable only by their user', async () => {
  assert.is(statSync(await makeProcessFolder(tempDir)).mode & 0o777, 0o700);
});

Folders('may be in a directory that does not exist yet', async () => {
  await removeStaleFolders(join(tempDir, 'not-yet'), silentLogger);
  assert.ok(existsSync(await makeProcessFolder(join(tempDir, 'not', 'yet'))));
});

Folders('are made once, when they are needed, and again after a failure', async () => {
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
  await folder.path();
  assert.not.ok(existsSync(path), 'nobody would remove it any more');
});

Folders('are made again when somebody else has removed them', async () => {
  const folder = new ProcessFolder(join(tempDir, 'swept'));
  const first = await folder.path();
  rmSync(join(tempDir, 'swept'), { recursive: true });
  const [one, other] = await Promise.all([folder.path(), folder.path()]);
  assert.is(one, other);
  assert.is.not(one, first);
  assert.ok(existsSync(one));
  await folder.remove();
  assert.equal(readdirSync(join(tempDir, 'swept')), []);
});

Folders('throw an error that names the setting if they cannot be made', async () => {
  writeFileSync(join(tempDir, 'taken'), '');
  const places = [
    join(tempDir, 'taken'),
    join(tempDir, 'taken', 'in'),
    ...(existsSync('/proc/self') ? ['/proc/none', '/proc/none/in'] : []),
  ];
  for (const place of places) {
    const error = await prepareTempDir(place).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof AanaError && error.name === 'ConfigError' && error.kind === 'invalid-input', place);
    assert.ok(
      error.message.startsWith(`media.temp_dir: ${place} cannot be used for temporary files (E`),
      error.message,
    );
  }
  await prepareTempDir(join(tempDir, 'made', 'here'));
  await prepareTempDir(join(tempDir, 'made', 'here'));
  assert.ok(existsSync(join(tempDir, 'made', 'here')));
});

Folders.run();
