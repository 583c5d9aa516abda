import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../core/errors.ts';
import { allowedFile } from './local-paths.ts';

const Paths = suite('allowedFile');
const base = realpathSync(mkdtempSync(join(tmpdir(), 'aana-test-')));
const [allowed, outside] = [join(base, 'allowed'), join(base, 'outside')];
for (const folder of [allowed, outside, `${allowed}-too`, join(allowed, 'sub')]) mkdirSync(folder);
for (const file of [join(allowed, 'a.mp4'), join(allowed, '..b.mp4'), join(allowed, 'sub', 'c.mp4'), join(outside, 'o.mp4'), `${allowed}-too/n.mp4`]) writeFileSync(file, 'x');
symlinkSync(join(outside, 'o.mp4'), join(allowed, 'out.mp4'));
symlinkSync(outside, join(allowed, 'outdir'));
symlinkSync(join(outside, 'missing.mp4'), join(allowed, 'dangling.mp4'));
symlinkSync(join(allowed, 'a.mp4'), join(allowed, 'in.mp4'));
symlinkSync(allowed, join(base, 'link-to-allowed'));
Paths.after(() => rmSync(base, { recursive: true }));

async function outcome(path: string, roots: readonly string[] = [allowed]): Promise<string> {
  return allowedFile(path, roots).catch((error: unknown) => {
    if (!(error instanceof AanaError)) throw error;
    return `${error.name} ${error.kind}`;
  });
}

const DENIED = 'PathNotAllowedException denied';
const UNUSABLE = 'FileNotFoundError bad-request';

Paths('gives the real path of a file inside', async () => {
  for (const path of [join(allowed, 'a.mp4'), join(allowed, 'in.mp4'), join(allowed, 'sub/../a.mp4'), join(base, 'link-to-allowed/a.mp4'), relative(process.cwd(), join(allowed, 'a.mp4'))]) {
    assert.is(await outcome(path), join(allowed, 'a.mp4'), path);
  }
  assert.is(await outcome(join(allowed, '..b.mp4')), join(allowed, '..b.mp4'));
  assert.is(await outcome(join(allowed, 'sub/c.mp4'), [join(base, 'link-to-allowed')]), join(allowed, 'sub/c.mp4'));
});

Paths('denies everything outside, whether it exists or not', async () => {
  const paths = [join(outside, 'o.mp4'), join(outside, 'missing.mp4'), join(allowed, '../outside/o.mp4'), `${allowed}-too/n.mp4`, join(base, 'nowhere/x.mp4'), allowed, '/', '/etc/passwd', ''];
  for (const path of [...paths, `${allowed}/a.mp4\0.mp4`]) assert.is(await outcome(path), DENIED, path);
});

Paths('denies links that lead outside, whether their target exists or not', async () => {
  for (const name of ['out.mp4', 'outdir/o.mp4', 'outdir/missing.mp4', 'dangling.mp4']) assert.is(await outcome(join(allowed, name)), DENIED, name);
});

Paths('denies everything when nothing is allowed, or the allowed folder is missing', async () => {
  assert.is(await outcome(join(allowed, 'a.mp4'), []), DENIED);
  assert.is(await outcome(join(allowed, 'a.mp4'), [join(base, 'nowhere')]), DENIED);
});

Paths('says inside an allowed folder that a file is missing or not a regular one', async () => {
  assert.is(await outcome(join(allowed, 'missing.mp4')), UNUSABLE);
  assert.is(await outcome(join(allowed, 'no/such/folder/x.mp4')), UNUSABLE);
  assert.is(await outcome(join(allowed, 'sub')), UNUSABLE);
});

Paths('refuses a path without end before it looks at each of its parts', async () => {
  const error = await allowedFile(`${allowed}/${'a/'.repeat(500_000)}`, [allowed]).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof AanaError && error.name === 'FileNotFoundError');
  assert.match(error.message, /^the path .{50,101}… is longer than 4096 characters$/);
});

Paths('names the option that allows a path', async () => {
  const error = await allowedFile('/etc/passwd', [allowed]).catch((thrown: unknown) => thrown);
  assert.match(String(error), '--allow-path');
});

Paths.run();
