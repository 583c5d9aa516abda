/**
 * Builds the language model engine with a sanitizer of GCC and sends random requests to it, also with packed weights
 * and with images for three kinds of encoders, and random events to its decode loop over a fake of llama.cpp. Runs the
 * unit tests in C++ of its parts and of the kernels, with the threads that help them.
 *
 *   npm run build && npx aana-host build-native
 *   node native/test/sanitize.mjs address|undefined|thread [requests] [seed]
 *
 * Our code is instrumented, and llama.cpp's encoders of images are; the published libraries of llama.cpp are not.
 * thread.supp has what the thread sanitizer reports of them wrongly.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeTinyLlama } from '../../dist/native/lib/fixtures/tiny-llama.js';
import { writeTinyProjector } from '../../dist/native/lib/fixtures/tiny-projector.js';
import { loadNative, nativeAddonPath } from '../../dist/native/lib/load.js';

const [sanitizer, requests = '1000', seed = '1'] = process.argv.slice(2);
if (!['address', 'undefined', 'thread'].includes(sanitizer)) throw new Error('expected address, undefined or thread');
const cwd = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(cwd, 'build', sanitizer);
const env = { ...process.env, TSAN_OPTIONS: `suppressions=${join(cwd, 'native/test/thread.supp')}` };
const run = (program, ...args) => execFileSync(program, args, { cwd, env, stdio: 'inherit' });
run('cmake', '-S', '.', '-B', folder, `-DAANA_SANITIZE=${sanitizer}`);
// The tests of matrices also compute graphs on threads of ggml's, whose barrier the thread sanitizer does not see. The
// requests to a quantized model below have threads of ours only.
const ofKernels = sanitizer === 'thread' ? ['compute'] : ['compute', 'matrix'];
const tests = ['loop', 'schedule', 'sampling', 'chat', 'embedding', ...ofKernels].map((name) => `aana-${name}-test`);
run('cmake', '--build', folder, '--target', 'aana-decode-fuzz', 'aana-event-fuzz', ...tests, '--parallel', '2');
for (const test of tests) {
  process.stdout.write(`${test}\n`);
  run(join(folder, 'programs', test));
}
const models = mkdtempSync(join(tmpdir(), 'aana-sanitize-'));
try {
  const model = join(models, 'tiny-llama.gguf');
  writeTinyLlama(model);
  run(join(folder, 'programs', 'aana-event-fuzz'), requests, seed);
  const send = (...args) => run(join(folder, 'programs', 'aana-decode-fuzz'), join(cwd, 'build', 'Release'), ...args);
  send(model, requests, seed);
  // The kernels compute this one.
  const wide = join(models, 'wide.gguf');
  const quantized = join(models, 'quantized.gguf');
  writeTinyLlama(wide, { hasWideHead: true });
  loadNative({ addonPath: nativeAddonPath(cwd) }).quantizeModel(wide, quantized, 'q4_0', 1);
  send(quantized, requests, seed);
  for (const kind of ['mlp', 'gemma3', 'qwen2vl']) {
    const seeing = join(models, `${kind}-model.gguf`);
    const projector = join(models, `${kind}.gguf`);
    writeTinyLlama(seeing, { hasImagePositions: kind === 'qwen2vl' });
    writeTinyProjector(projector, kind);
    send(seeing, requests, seed, projector);
  }
} finally {
  rmSync(models, { recursive: true });
}
