import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../base/core/errors.ts';
import type { Artifact } from '../../base/schemas/index.ts';
import { artifactFolders, artifactOf, artifactPath, ARTIFACTS_DIR, TASK_FILES_DIR, verifiedPath } from './index.ts';

const Artifacts = suite('artifacts');

const base = mkdtempSync(join(tmpdir(), 'aana-artifacts-'));
const root = join(base, 'root');
mkdirSync(join(root, 'aana-host-1', 'scope'), { recursive: true });
const file = join(root, 'aana-host-1', 'scope', 'a-0.f32');
writeFileSync(file, 'twelve bytes');
writeFileSync(join(base, 'secret'), 'twelve bytes');
const sha256 = createHash('sha256').update('twelve bytes').digest('hex');
Artifacts.after(() => rmSync(base, { recursive: true }));

async function refusal(
  artifact: Artifact,
  at: readonly string[] = [root],
  open: typeof artifactPath = artifactPath,
): Promise<string> {
  const error = await open(artifact, at).then(
    (path) => new Error(`it gave ${path}`),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AanaError)) throw error;
  return error.name;
}

Artifacts('are made by one process and opened by another process that knows the folder', async () => {
  const artifact = await artifactOf(root, file, sha256);
  assert.equal(artifact, { id: 'aana-host-1/scope/a-0.f32', bytes: 12, sha256 });
  assert.is(readFileSync(await artifactPath(artifact, [root]), 'utf8'), 'twelve bytes');
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
  assert.is(await refusal({ path: file, bytes: 12 } as unknown as Artifact), 'ValidationError');
});

Artifacts('that are missing, have another length, or have no folder cause an error with their id', async () => {
  assert.is(await refusal({ id: 'aana-host-1/scope/b-0.f32', bytes: 12, sha256 }), 'ArtifactNotFound');
  assert.is(await refusal({ id: 'aana-host-1/scope/a-0.f32', bytes: 13, sha256 }), 'ArtifactNotFound');
  assert.is(await refusal({ id: 'aana-host-1/scope', bytes: 12, sha256 }), 'ArtifactNotFound');
  assert.is(await refusal({ id: 'aana-host-1/scope/a-0.f32', bytes: 12, sha256 }, []), 'ArtifactNotFound');
  symlinkSync('/dev/zero', join(root, 'aana-host-1', 'zero'));
  assert.is(await refusal({ id: 'aana-host-1/zero', bytes: 0, sha256 }), 'ArtifactNotFound');
});

Artifacts('are found in each folder that the host has named', async () => {
  const folders = artifactFolders({ [ARTIFACTS_DIR]: join(base, 'empty'), [TASK_FILES_DIR]: root, OTHER: base });
  assert.equal(folders, [join(base, 'empty'), root]);
  assert.is(await artifactPath({ id: 'aana-host-1/scope/a-0.f32', bytes: 12, sha256 }, folders), file);
  assert.is(await refusal({ id: 'aana-host-1/scope/b-0.f32', bytes: 12, sha256 }, folders), 'ArtifactNotFound');
  assert.equal(artifactFolders({ [ARTIFACTS_DIR]: '' }), []);
});

Artifacts('are verified by all of their bytes on request', async () => {
  const large = join(root, 'aana-host-1', 'large');
  const bytes = Buffer.alloc(1_000_003, 7);
  writeFileSync(large, bytes);
  const artifact = await artifactOf(root, large, createHash('sha256').update(bytes).digest('hex'));
  assert.is(await verifiedPath(artifact, [root]), large);
  bytes[999_999] = 8;
  writeFileSync(large, bytes);
  assert.is(await artifactPath(artifact, [root]), large, 'the length is the same');
  assert.is(await refusal(artifact, [root], verifiedPath), 'ArtifactNotFound');
  const ended = new Error('the run has ended');
  assert.ok(
    await verifiedPath(artifact, [root], AbortSignal.abort(ended)).catch((error: Error) => error.name === 'AbortError'),
  );
});

Artifacts.run();
