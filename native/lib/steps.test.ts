// How a step of a language model is computed, and whether llama.cpp does what the engine takes for granted: the tests
// in native/test/steps, with tiny models and with those of the cache.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cannotBuild, runProgramTests } from './fixtures/test-program.ts';
import { cached } from './fixtures/test-whisper.ts';
import { writeTinyBert, writeTinyQwen3 } from './fixtures/tiny-embedding.ts';
import { writeTinyLlama } from './fixtures/tiny-llama.ts';
import { writeTinyMamba } from './fixtures/tiny-mamba.ts';
import { loadNative, nativeAddonPath } from './index.ts';

/** Models of the catalogue whose types have kernels. */
const REAL = [
  'smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf',
  'qwen2.5-coder-0.5b-instruct/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf',
];

// The program counts threads with the linker of ELF files.
if (process.platform === 'linux') {
  const folder = mkdtempSync(join(tmpdir(), 'aana-steps-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  const packageRoot = fileURLToPath(new URL('../../..', import.meta.url));
  const path = (name: string): string => join(folder, `${name}.gguf`);
  writeTinyLlama(path('model'), { hasWideHead: true });
  writeTinyBert(path('bert'));
  writeTinyQwen3(path('qwen3'));
  writeTinyMamba(path('mamba'));
  writeTinyMamba(path('jamba'), 'hybrid');
  const addonPath = nativeAddonPath(packageRoot);
  if (cannotBuild(packageRoot) === undefined) {
    const native = loadNative({ addonPath });
    for (const name of ['bert', 'qwen3']) native.quantizeModel(path(name), path(`${name}-q8_0`), 'q8_0', 1);
  }
  runProgramTests('steps of language models', 'aana-steps-test', [
    dirname(addonPath),
    path('model'),
    path('quantized'),
    path('bert-q8_0'),
    path('qwen3-q8_0'),
    ...REAL.flatMap((model) => cached(model) ?? []),
    '--',
    path('mamba'),
    path('jamba'),
  ]);
} else {
  process.stdout.write('SKIP steps of language models: threads are counted on Linux only\n');
}
