import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as tar from 'tar';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { extractMembers, readMember } from './extract-members.ts';
import { makeZip } from './make-zip.test.fixture.ts';

const LONG = Buffer.alloc(300_000, 'long text ');

async function filesBelow(dir: string): Promise<string[]> {
  return (await readdir(dir, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
}

async function nameOfError(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no error',
    (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error)),
  );
}

const Extract = suite<{ dir: string; zip: string; tgz: string; out: string }>('extractMembers');

Extract.before.each(async (context) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'aana-extract-'));
  const source = path.join(dir, 'source', 'package', 'bin');
  await mkdir(source, { recursive: true });
  await writeFile(path.join(source, 'tool'), LONG, { mode: 0o755 });
  await writeFile(path.join(source, 'note.txt'), 'note');
  await tar.create({ file: path.join(dir, 'a.tgz'), gzip: true, cwd: path.join(dir, 'source') }, ['package']);
  await writeFile(
    path.join(dir, 'a.whl'),
    makeZip({ 'package/bin/tool': LONG, 'package/bin/note.txt': Buffer.from('note') }),
  );
  Object.assign(context, {
    dir,
    zip: path.join(dir, 'a.whl'),
    tgz: path.join(dir, 'a.tgz'),
    out: path.join(dir, 'out'),
  });
});
Extract.after.each(async ({ dir }) => {
  await rm(dir, { recursive: true, force: true });
});

for (const kind of ['zip', 'tgz'] as const) {
  Extract(`${kind}: extracts only the named members, in the given order`, async (context) => {
    const files = await extractMembers(context[kind], ['package/bin/note.txt'], context.out);
    assert.equal(files, [path.join(context.out, 'package/bin/note.txt')]);
    assert.equal(await filesBelow(context.out), ['note.txt']);
    const both = await extractMembers(context[kind], ['package/bin/tool', 'package/bin/note.txt'], context.out);
    assert.equal(await readFile(both[0] ?? ''), LONG);
    assert.is(await readFile(both[1] ?? '', 'utf8'), 'note');
  });

  Extract(`${kind}: takes a pattern`, async (context) => {
    const files = await extractMembers(context[kind], /\.txt$/g, context.out);
    assert.equal(files, [path.join(context.out, 'package/bin/note.txt')]);
  });

  Extract(`${kind}: names a missing member`, async (context) => {
    assert.match(
      await nameOfError(extractMembers(context[kind], ['package/none'], context.out)),
      /^ArchiveError: .*package\/none/,
    );
  });

  Extract(`${kind}: a truncated archive is an error and leaves no part of a file`, async (context) => {
    const whole = await readFile(context[kind]);
    await writeFile(context[kind], whole.subarray(0, Math.floor(whole.length / 2)));
    assert.match(await nameOfError(extractMembers(context[kind], ['package/bin/tool'], context.out)), /^ArchiveError/);
    assert.equal(await filesBelow(context.dir).then((names) => names.filter((name) => name.endsWith('.partial'))), []);
  });
}

Extract('zip: inflates members, and refuses one of another length than the archive says', async ({ zip, out }) => {
  await writeFile(zip, makeZip({ 'package/bin/tool': LONG }, 0));
  const [tool = ''] = await extractMembers(zip, ['package/bin/tool'], out);
  assert.equal(await readFile(tool), LONG);
  for (const surplus of [1, -1]) {
    await writeFile(zip, makeZip({ 'package/bin/other': LONG }, surplus));
    assert.match(await nameOfError(extractMembers(zip, /./, out)), /^ArchiveError: .*300000 bytes, and should have/);
    const reading = readMember(zip, 'package/bin/other', async () => {});
    assert.match(await nameOfError(reading), /^ArchiveError: .*300000 bytes, and should have/);
  }
  assert.equal(await filesBelow(out), ['tool']);
  const damaged = makeZip({ 'package/bin/other': LONG }, 0);
  await writeFile(zip, damaged.fill(0xff, 100, 200));
  assert.match(await nameOfError(extractMembers(zip, /./, out)), /^ArchiveError/);
});

for (const kind of ['zip', 'tgz'] as const) {
  Extract(`${kind}: reads one member in pieces`, async (context) => {
    const pieces: Buffer[] = [];
    const write = async (piece: Buffer): Promise<void> => void pieces.push(Buffer.from(piece));
    await readMember(context[kind], 'package/bin/tool', write);
    assert.equal(Buffer.concat(pieces), LONG);
    assert.match(
      await nameOfError(readMember(context[kind], 'package/none', write)),
      /^ArchiveError: .*no member package\/none/,
    );
    const full = async (): Promise<void> => {
      throw Object.assign(new Error('the disk is full'), { code: 'ENOSPC' });
    };
    assert.is(await nameOfError(readMember(context[kind], 'package/bin/tool', full)), 'Error: the disk is full');
    const whole = await readFile(context[kind]);
    await writeFile(context[kind], whole.subarray(0, Math.floor(whole.length / 2)));
    assert.match(await nameOfError(readMember(context[kind], 'package/bin/tool', write)), /^ArchiveError/);
  });
}

Extract('tgz: keeps programs executable', async ({ tgz, out }) => {
  const [tool = ''] = await extractMembers(tgz, ['package/bin/tool'], out);
  assert.is((await stat(tool)).mode & 0o111, 0o111);
});

Extract('refuses a member that would leave the folder', async ({ dir, zip, out }) => {
  await writeFile(zip, makeZip({ '../outside': Buffer.from('x') }));
  assert.match(await nameOfError(extractMembers(zip, /./, out)), /^ArchiveError/);
  assert.not.ok((await readdir(dir)).includes('outside'));
});

Extract('rejects with the reason of the signal', async ({ zip, out }) => {
  const reason = new Error('client went away');
  const error = await extractMembers(zip, /./, out, { signal: AbortSignal.abort(reason) }).catch(
    (thrown: unknown) => thrown,
  );
  assert.is(error, reason);
});

Extract.run();
