import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { llamaMemory } from '../../inference/deployments/builtin/memory-need.ts';
import { loadNative, nativeAddonPath } from '../../../native/lib/index.ts';
import { writeTinyLlama } from '../../../native/lib/fixtures/tiny-llama.ts';
import { skip } from '../../test/skip.ts';
import { endOfMetadata, type ModelShape, writeRandomModel } from './gguf-writer.ts';
import { archivesText, splitFile } from './parts.ts';

const Gpu = suite('files staged for a machine with a GPU');
const folder = mkdtempSync(join(tmpdir(), 'aana-gpu-'));
Gpu.after(() => rmSync(folder, { recursive: true }));

const SHAPE: ModelShape = {
  layers: 2,
  embedding: 128,
  feedForward: 256,
  heads: 4,
  kvHeads: 2,
  contextTokens: 256,
  weights: 'q4_0',
};

for (const weights of ['q4_0', 'q8_0', 'f16'] as const) {
  const title = `a generated ${weights} model loads and generates text`;
  if (!existsSync(nativeAddonPath(packageRoot))) skip(title, 'the native addon is not built');
  else {
    Gpu(title, async () => {
      const base = join(folder, 'vocabulary.gguf');
      writeTinyLlama(base);
      const whole = readFileSync(base);
      writeFileSync(base, whole.subarray(0, endOfMetadata(whole)));
      const path = join(folder, `${weights}.gguf`);
      assert.is(writeRandomModel(base, path, { ...SHAPE, weights }), statSync(path).size);
      const need = await llamaMemory(path, {
        contextTokens: 0,
        sequences: 1,
        keyType: 'f16',
        valueType: 'f16',
        gpuLayers: -1,
      });
      assert.is(need.contextBytes, 2 * 2 * 2 * 32 * 2 * 256);
      const ended = new Promise((resolve) => {
        const onEvent = (event: { readonly type: string; readonly completionTokens?: number }): void => {
          if (event.type !== 'text') resolve([event.type, event.completionTokens]);
        };
        const options = {
          modelPath: path,
          contextTokens: 0,
          maxSequences: 1,
          threads: 1,
          gpuLayers: 0,
          prefillTokensPerStep: 32,
          keyType: 'f16' as const,
          valueType: 'f16' as const,
        };
        void loadNative({ addonPath: nativeAddonPath(packageRoot) })
          .loadLlama(options, onEvent, () => {})
          .then((engine) =>
            engine.submit(
              1,
              { text: 'Once' },
              {
                temperature: 1,
                topK: -1,
                topP: 1,
                minP: 0,
                repetitionPenalty: 1,
                seed: 1,
                maxTokens: 3,
                stop: [],
              },
            ),
          );
      });
      const [type, tokens] = (await ended) as [string, number];
      assert.is(type, 'end');
      assert.ok(tokens <= 3);
    });
  }
}

const unpack = (parts: string, target: string): { status: number | null; stdout: string; stderr: string } =>
  spawnSync('sh', [join(packageRoot, 'host/bench/gpu/unpack.sh'), parts, target], { encoding: 'utf8' });

Gpu('archives are unpacked when all of their parts have arrived', () => {
  const [from, parts, target] = ['from', 'parts', 'target'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const each of [from, parts]) mkdirSync(each);
  writeFileSync(join(from, 'a'), Buffer.from(Array.from({ length: 30_000 }, (_, n) => (n * n) % 251)));
  writeFileSync(join(from, 'b'), 'b');
  for (const name of ['a', 'b']) execFileSync('tar', ['-czf', join(folder, `${name}.tar.gz`), '-C', from, name]);
  const archives = ['a', 'b'].map((name) => splitFile(join(folder, `${name}.tar.gz`), parts, 100));
  writeFileSync(join(parts, 'archives.txt'), archivesText(archives));
  const last = join(parts, `a.tar.gz.${String((archives[0]?.parts ?? 0) - 1).padStart(3, '0')}`);
  const bytes = readFileSync(last);
  rmSync(last);
  const first = unpack(parts, target);
  assert.is(first.status, 3, first.stderr);
  assert.match(first.stdout, /a\.tar\.gz: \d+ of \d+ parts\nb\.tar\.gz: unpacked/);
  writeFileSync(last, Buffer.alloc(bytes.length));
  const damaged = unpack(parts, target);
  assert.is(damaged.status, 1);
  assert.match(damaged.stderr, 'damaged');
  writeFileSync(last, bytes);
  assert.is(unpack(parts, target).status, 0);
  assert.is(unpack(parts, target).status, 0);
  assert.equal(readFileSync(join(target, 'a')), readFileSync(join(from, 'a')));
  assert.equal(readdirSync(parts), ['archives.txt']);
});

Gpu.run();
