// Loads stand-ins for ggml's CUDA backend into the real addon: one that needs other libraries, and one with a small
// GPU.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addonPath, options, tinyModel } from './fixtures/test-engine.ts';
import { buildProgram, cannotBuild } from './fixtures/test-program.ts';

const Backends = suite('the addon’s backends for GPUs');
const packageRoot = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const folder = mkdtempSync(join(tmpdir(), 'aana-backends-'));
const backend = join(folder, 'libggml-cuda.so');
Backends.after(() => rmSync(folder, { recursive: true }));

const reason =
  cannotBuild(packageRoot) ??
  (existsSync(join(dirname(addonPath), 'libggml-base.so')) ? undefined : 'ggml is a part of the addon');
if (reason !== undefined) process.stdout.write(`SKIP backends for GPUs: ${reason}\n`);
const test = reason === undefined ? Backends : Backends.skip;

/** Returns what `expression` of `native` is in a process that loads the backends of the folder. */
function inProcess(expression: string, env: NodeJS.ProcessEnv = {}): unknown {
  const given = { addonPath, backendDirectories: [dirname(addonPath), folder] };
  const program = `import { loadNative } from ${JSON.stringify(new URL('load.js', import.meta.url).href)};
    const native = loadNative(${JSON.stringify(given)});
    process.stdout.write(JSON.stringify(await (${expression})));
    process.exit();`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  return JSON.parse(output);
}

/** Compiles an empty library that needs others of the folder. */
function library(name: string, source = '', needed: readonly string[] = []): void {
  writeFileSync(join(folder, 'source.c'), source);
  const links = ['-Wl,--no-as-needed', `-L${folder}`, ...needed.map((each) => `-l:${each}`), '-Wl,-rpath,$ORIGIN'];
  execFileSync('cc', ['-shared', '-o', join(folder, name), join(folder, 'source.c'), `-Wl,-soname,${name}`, ...links]);
}

const problemOf = (env?: NodeJS.ProcessEnv): string =>
  (inProcess('native.gpuBackends()', env) as readonly { problem?: string }[])[0]?.problem ?? '';

test('names each library that is missing, and finds those beside the backend', () => {
  assert.equal(inProcess('native.gpuBackends()'), []);
  library('libcudart.so.99');
  library('libcublasLt.so.99');
  library('libcublas.so.99', '', ['libcublasLt.so.99']);
  library('libggml-cuda.so', 'void* ggml_backend_init(void) { return 0; }', ['libcudart.so.99', 'libcublas.so.99']);
  for (const name of ['libcublasLt.so.99', 'libcublas.so.99', 'libcudart.so.99']) {
    rmSync(join(folder, name));
    assert.match(problemOf(), `: ${name}: cannot open shared object file`);
  }
  library('libcudart.so.99');
  library('libcublasLt.so.99');
  library('libcublas.so.99', '', ['libcublasLt.so.99']);
  assert.match(problemOf(), 'ggml_backend_init returned NULL');
});

const SMALL = { SMALL_GPU_BYTES: String(64 * 2 ** 20) };

test('lists the GPU of a backend that loads, and says when it has none', () => {
  copyFileSync(`${buildProgram(packageRoot, 'aana-small-gpu')}.so`, backend);
  assert.equal(inProcess('native.gpuBackends()', SMALL), [{ name: 'cuda' }]);
  assert.equal(inProcess('native.devices().filter(({ type }) => type === "gpu")', SMALL), [
    {
      name: 'CUDA0',
      description: 'a small GPU',
      type: 'gpu',
      memoryFreeBytes: 64 * 2 ** 20,
      memoryTotalBytes: 64 * 2 ** 20,
    },
  ]);
  assert.is(problemOf(), 'it finds no GPU');
});

const load = (given: object, env: NodeJS.ProcessEnv): string =>
  String(
    inProcess(
      `native.loadLlama(${JSON.stringify({ ...options, gpuLayers: 99, ...given })}, () => {}, () => {}).then(
      () => 'loaded', (error) => error.message)`,
      env,
    ),
  );

test('says how much memory a model needs of which GPU, and how much is free', () => {
  const message = load({}, { SMALL_GPU_BYTES: String(2 ** 18) });
  assert.match(message, new RegExp(`${tinyModel} could not be loaded`));
  assert.match(message, /\(CUDA0 has no room for \d\.\d MiB: 0\.2 MiB of 0\.2 MiB are free\)$/);
});

test('says the same of the cache of a model whose weights fit', () => {
  const message = load({ contextTokens: 256, maxSequences: 64 }, { SMALL_GPU_BYTES: String(4 * 2 ** 20) });
  assert.match(message, /^no context of 64 sequences/);
  assert.match(message, /\(CUDA0 has no room for \d+\.\d MiB: \d\.\d MiB of 4\.0 MiB are free\)$/);
});

Backends.run();
