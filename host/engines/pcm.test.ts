import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Artifact } from '../schemas/index.ts';
import { isSilent, mixDown, readPcm } from './pcm.ts';

const Pcm = suite('PCM samples');

let folder = '';
Pcm.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-pcm-'));
});
Pcm.after(() => rm(folder, { recursive: true }));

const named = (name: string, bytes: number): Artifact => ({ id: `pcm/${name}`, bytes, sha256: '0'.repeat(64) });
const pathOf = async ({ id }: Artifact): Promise<string> => join(folder, basename(id));

Pcm('are read unchanged', async () => {
  const path = join(folder, 'three.f32');
  await writeFile(path, Buffer.from(Float32Array.of(0.5, -1, 0.25).buffer));
  assert.equal([...(await readPcm({ artifact: named('three.f32', 12), samples: 3 }, pathOf))], [0.5, -1, 0.25]);
});

Pcm('need no file if there are none', async () => {
  assert.is((await readPcm({ artifact: named('absent', 0), samples: 0 }, pathOf)).length, 0);
});

Pcm('that are missing from the file are an error with both numbers', async () => {
  const path = join(folder, 'short.f32');
  await writeFile(path, Buffer.alloc(8));
  const error = await readPcm({ artifact: named('short.f32', 8), samples: 3 }, pathOf).catch(
    (thrown: unknown) => thrown,
  );
  assert.match(String(error), 'holds 2 samples, not 3');
});

Pcm('of several channels are mixed to their mean', () => {
  assert.equal([...mixDown([Float32Array.of(1, 0.5, 1), Float32Array.of(0, 0.5)])], [0.5, 0.5, 0.5]);
  assert.is(mixDown([]).length, 0);
});

Pcm('are silent if all are zero', () => {
  assert.ok(isSilent(new Float32Array(100)));
  assert.ok(isSilent(new Float32Array(0)));
  assert.not.ok(isSilent(Float32Array.of(0, 0, 0.001)));
});

Pcm.run();
