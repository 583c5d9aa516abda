import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../base/core/errors.ts';
import { runContained } from '../../base/processes/index.ts';
import { openAllowed, openRealPath } from './local-paths.ts';

const Paths = suite('openAllowed');
const base = realpathSync(mkdtempSync(join(tmpdir(), 'aana-test-')));
const [allowed, outside] = [join(base, 'allowed'), join(base, 'outside')];
for (const folder of [allowed, outside, `${allowed}-too`, join(allowed, 'sub')]) mkdirSync(folder);
for (const file of [
  join(allowed, 'a.mp4'),
  join(allowed, '..b.mp4'),
  join(allowed, 'sub', 'c.mp4'),
  join(outside, 'o.mp4'),
  `${allowed}-too/n.mp4`,
])
  writeFileSync(file, 'x');
symlinkSync(join(outside, 'o.mp4'), join(allowed, 'out.mp4'));
symlinkSync(outside, join(allowed, 'outdir'));
symlinkSync(join(outside, 'missing.mp4'), join(allowed, 'dangling.mp4'));
symlinkSync(join(allowed, 'a.mp4'), join(allowed, 'in.mp4'));
symlinkSync(allowed, join(base, 'link-to-allowed'));
Paths.after(() => rmSync(base, { recursive: true }));

/** Returns the real path of the opened file, or the error of opening it. */
async function outcome(path: string, roots: readonly string[] = [allowed]): Promise<string> {
  try {
    await using file = await openAllowed(path, roots);
    return realpathSync(file.path);
  } catch (error) {
    if (!(error instanceof AanaError)) throw error;
    return `${error.name} ${error.kind}`;
  }
}

const DENIED = 'PathNotAllowedException denied';
const UNUSABLE = 'FileNotFoundError bad-request';

Paths('opens files inside an allowed folder', async () => {
  for (const path of [
    join(allowed, 'a.mp4'),
    join(allowed, 'in.mp4'),
    join(allowed, 'sub/../a.mp4'),
    join(base, 'link-to-allowed/a.mp4'),
    relative(process.cwd(), join(allowed, 'a.mp4')),
  ]) {
    assert.is(await outcome(path), join(allowed, 'a.mp4'), path);
  }
  assert.is(await outcome(join(allowed, '..b.mp4')), join(allowed, '..b.mp4'));
  assert.is(await outcome(join(allowed, 'sub/c.mp4'), [join(base, 'link-to-allowed')]), join(allowed, 'sub/c.mp4'));
});

Paths('denies every path outside, existing or not', async () => {
  const paths = [
    join(outside, 'o.mp4'),
    join(outside, 'missing.mp4'),
    join(allowed, '../outside/o.mp4'),
    `${allowed}-too/n.mp4`,
    join(base, 'nowhere/x.mp4'),
    allowed,
    '/',
    '/etc/passwd',
    '',
  ];
  for (const path of [...paths, `${allowed}/a.mp4\0.mp4`]) assert.is(await outcome(path), DENIED, path);
});

Paths('denies links that lead outside, with and without an existing target', async () => {
  for (const name of ['out.mp4', 'outdir/o.mp4', 'outdir/missing.mp4', 'dangling.mp4'])
    assert.is(await outcome(join(allowed, name)), DENIED, name);
});

Paths('denies every path if no folder is allowed or the allowed folder is missing', async () => {
  assert.is(await outcome(join(allowed, 'a.mp4'), []), DENIED);
  assert.is(await outcome(join(allowed, 'a.mp4'), [join(base, 'nowhere')]), DENIED);
});

Paths('explains inside an allowed folder that a file is missing or not a regular file', async () => {
  assert.is(await outcome(join(allowed, 'missing.mp4')), UNUSABLE);
  assert.is(await outcome(join(allowed, 'no/such/folder/x.mp4')), UNUSABLE);
  assert.is(await outcome(join(allowed, 'sub')), UNUSABLE);
});

Paths('refuses a very long path before it resolves its parts', async () => {
  const error = await openAllowed(`${allowed}/${'a/'.repeat(500_000)}`, [allowed]).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof AanaError && error.name === 'FileNotFoundError');
  assert.match(error.message, /^the path .{50,101}… is longer than 4096 characters$/);
});

Paths('names the option that allows a path', async () => {
  const error = await openAllowed('/etc/passwd', [allowed]).catch((thrown: unknown) => thrown);
  assert.match(String(error), '--allow-path');
});

Paths('refuses pipes, devices, sockets and files of the kernel without blocking', async () => {
  await runContained('mkfifo', [join(allowed, 'pipe.mp4')]);
  assert.is(await outcome(join(allowed, 'pipe.mp4')), UNUSABLE);
  for (const path of ['/dev/zero', '/dev/stdin', '/dev/tty'])
    assert.match(await outcome(path, ['/']), /^(FileNotFoundError|PathNotAllowedException)/, path);
  for (const path of ['/proc/self/environ', '/proc/self/fd/0', '/dev/fd/0', '/sys/kernel/uevent_seqnum'])
    assert.is(await outcome(path), DENIED, path);
});

Paths('does not interpret special characters in names', async () => {
  for (const name of ['ü 语\n$(x).mp4', '-i.mp4', '%2e%2e.mp4', 'a:b.mp4', 'x'.repeat(255)]) {
    writeFileSync(join(allowed, name), 'x');
    assert.is(await outcome(join(allowed, name)), join(allowed, name));
  }
  for (const name of [
    'x'.repeat(256),
    'a.mp4/',
    'a.mp4/..',
    '\ud800.mp4',
    '%2e%2e/outside/o.mp4',
    '..\\outside\\o.mp4',
  ])
    assert.not.match(await outcome(join(allowed, name)), 'outside', name);
  assert.is(await outcome(`${allowed}/%2e%2e/outside/o.mp4`), UNUSABLE);
});

Paths('notices that the checked file was replaced by another one', async () => {
  const target = join(allowed, 'raced.mp4');
  const isAllowed = (real: string): boolean => real.startsWith(`${allowed}/`);
  const raced = async (): Promise<string> =>
    openRealPath(target, target, isAllowed).then(
      (file) => (void file[Symbol.asyncDispose](), 'opened'),
      (error: AanaError) => `${error.name} ${error.kind}`,
    );
  symlinkSync(join(outside, 'o.mp4'), target);
  assert.is(await raced(), DENIED);
  rmSync(target);
  await runContained('mkfifo', [target]);
  assert.is(await raced(), UNUSABLE);
  rmSync(target);
  assert.is(await raced(), UNUSABLE);
  if (process.platform === 'linux')
    assert.is(
      await openRealPath(target, join(outside, 'o.mp4'), isAllowed).catch((error: AanaError) => error.name),
      'PathNotAllowedException',
    );
});

if (process.platform === 'linux') {
  Paths('returns a path to the open file, so that a later replacement is not read', async () => {
    const path = join(allowed, 'later.mp4');
    writeFileSync(path, 'first');
    await using file = await openAllowed(path, [allowed]);
    rmSync(path);
    symlinkSync(join(outside, 'o.mp4'), path);
    assert.is((await runContained('cat', [file.path])).stdout.toString(), 'first');
  });
}

Paths.run();
