// How many graphs and new threads a step of a language model takes: the tests in native/test/steps, with a tiny model.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runProgramTests } from './fixtures/test-program.ts';
import { writeTinyLlama } from './fixtures/tiny-llama.ts';
import { nativeAddonPath } from './index.ts';

// The program counts threads with the linker of ELF files.
if (process.platform === 'linux') {
  const folder = mkdtempSync(join(tmpdir(), 'aana-steps-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  const packageRoot = fileURLToPath(new URL('../../..', import.meta.url));
  const model = join(folder, 'model.gguf');
  writeTinyLlama(model, { hasWideHead: true });
  runProgramTests('steps of language models', 'aana-steps-test', [
    dirname(nativeAddonPath(packageRoot)),
    model,
    join(folder, 'quantized.gguf'),
  ]);
} else {
  process.stdout.write('SKIP steps of language models: threads are counted on Linux only\n');
}
