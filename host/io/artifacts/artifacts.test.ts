import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Artifact } from '../../base/schemas/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { artifactOf, findGrowing, localArtifact, readArtifact } from './index.ts';

const Artifacts = suite('artifacts');

const base = mkdtempSync(join(tmpdir(), 'aana-artifacts-'));
const root = join(base, 'root');
const scope = join(root, 'aana-host-1', 'scope');
mkdirSync(scope, { recursive: true });
const file = join(scope, 'a-0.f32');
writeFileSync(file, 'twelve bytes');
writeFileSync(join(base, 'secret'), 'twelve bytes');
const sha256 = createHash('sha256').update('twelve bytes').digest('hex');
const { signal } = new AbortController();
Artifacts.after(() => rmSync(base, { recursive: true }));

/** Returns the name of the error with which an id is refused, for one's own use and for that of another process. */
async function refusal(artifact: Artifact, at: readonly string[] = [root]): Promise<string> {
  const [own, other] = await Promise.all([
    errorOf(localArtifact(artifact, at)),
    errorOf(readArtifact({ file: artifact }, { id: artifact.id, from: 0 }, at, signal)),
  ]);
  assert.is(own.name, other.name);
  return own.name;
}

Artifacts('are made by one process and opened by another process that knows the folder', async () => {
  const artifact = await artifactOf(root, file, sha256);
  assert.equal(artifact, { id: 'aana-host-1/scope/a-0.f32', bytes: 12, sha256 });
  assert.is(readFileSync((await localArtifact(artifact, [join(base, 'empty'), root])) ?? '', 'utf8'), 'twelve bytes');
  assert.is(await localArtifact(artifact, [join(base, 'empty')]), undefined);
});

Artifacts('cannot name files outside of the folder', async () => {
  for (const id of [
    '../secret',
    'aana-host-1/../../secret',
    '/etc/passwd',
    'aana-host-1/scope/../../../secret',
    'a',
    'a/.hidden',
    'a/b\0c',
    `${'a/'.repeat(300)}b`,
  ]) {
    assert.is(await refusal({ id, bytes: 12, sha256 }), 'ValidationError', id);
  }
  const noId = { path: file, bytes: 12 } as unknown as Artifact;
  assert.is((await errorOf(localArtifact(noId, [root]))).name, 'ValidationError');
});

Artifacts('are not reached through links, which lead anywhere', async () => {
  symlinkSync('/dev/zero', join(scope, 'zero'));
  symlinkSync(join(base, 'secret'), join(scope, 'link'));
  symlinkSync(base, join(root, 'up'));
  for (const [id, bytes] of [
    ['aana-host-1/scope/zero', 0],
    ['aana-host-1/scope/link', 12],
    ['up/secret', 12],
    ['aana-host-1/scope', 12],
  ] as const)
    assert.is(await refusal({ id, bytes, sha256 }), 'ArtifactNotFound', id);
  const linked = join(base, 'linked');
  symlinkSync(root, linked);
  const artifact = await artifactOf(root, file, sha256);
  assert.is(await localArtifact(artifact, [linked]), join(linked, artifact.id), 'the folder itself may be one');
});

Artifacts('with another length cause an error that says so', async () => {
  const error = await errorOf(localArtifact({ id: 'aana-host-1/scope/a-0.f32', bytes: 13, sha256 }, [root]));
  assert.is(error.name, 'ArtifactNotFound');
  assert.match(error.message, 'it has 12 bytes, not 13');
});

Artifacts('are given only to a call that names them, wherever in its arguments', async () => {
  const artifact = await artifactOf(root, file, sha256);
  const { id } = artifact;
  const text = async (args: Record<string, unknown> | undefined, from = 7): Promise<string> =>
    Buffer.from(await readArtifact(args, { id, from }, [root], signal)).toString();
  for (const args of [
    { artifact },
    { audio_batch: [{ channels: [{ samples: 3, artifact }], sample_rate: 16_000 }] },
    { dialog: { messages: [{ content: [{ image: { width: 1, pixels: artifact } }] }], prefix: null } },
  ])
    assert.is(await text(args), 'bytes');
  for (const args of [undefined, {}, { text: id }, { id }, { artifact: { ...artifact, id: `${id}x` } }])
    assert.match((await errorOf(text(args))).message, 'no running call names it');
  assert.is(await text({ artifact }, 12), '', 'its end');
  for (const from of [-1, 0.5, Number.NaN, '0', null] as number[])
    assert.is((await errorOf(text({ artifact }, from))).name, 'ValidationError', String(from));
});

Artifacts('that grow are found where all of their files are', async () => {
  const [one, two] = ['aana-host-1/scope/g-0', 'aana-host-1/scope/g-1'];
  writeFileSync(join(root, one), '');
  assert.is(await findGrowing([one, two], 'aana-host-1/scope/g.end', [root]), undefined);
  writeFileSync(join(root, two), '');
  const found = await findGrowing([one, two], 'aana-host-1/scope/g.end', [base, root]);
  assert.equal([found?.files, found?.end], [[join(root, one), join(root, two)], join(scope, 'g.end')]);
});

Artifacts.run();
