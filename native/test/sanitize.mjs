/**
 * Builds the language model engine with a sanitizer of GCC and sends random requests to it, and random events to its decode
 * loop over a fake of llama.cpp.
 *
 *   npm run build && npx aana-host build-native
 *   node native/test/sanitize.mjs address|undefined|thread [requests] [seed]
 *
 * Our code is instrumented; the published libraries of llama.cpp are not.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeTinyLlama } from '../../dist/native/lib/fixtures/tiny-llama.js';

const [sanitizer, requests = '1000', seed = '1'] = process.argv.slice(2);
if (!['address', 'undefined', 'thread'].includes(sanitizer)) throw new Error('expected address, undefined or thread');
const cwd = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(cwd, 'build', sanitizer);
const run = (program, ...args) => execFileSync(program, args, { cwd, stdio: 'inherit' });
run('cmake', '-S', '.', '-B', folder, `-DAANA_SANITIZE=${sanitizer}`);
run('cmake', '--build', folder, '--target', 'aana-decode-fuzz', 'aana-event-fuzz', '--parallel', '2');
const models = mkdtempSync(join(tmpdir(), 'aana-sanitize-'));
try {
  const model = join(models, 'tiny-llama.gguf');
  writeTinyLlama(model);
  run(join(folder, 'aana-event-fuzz'), requests, seed);
  run(join(folder, 'aana-decode-fuzz'), join(cwd, 'build', 'Release'), model, requests, seed);
} finally {
  rmSync(models, { recursive: true });
}
