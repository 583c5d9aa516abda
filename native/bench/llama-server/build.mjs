/**
 * Builds llama-server and llama-batched-bench for tests and benchmarks beside the engine, from the same sources and
 * with the same libraries. Prints their paths. It takes about 7 minutes of computing, and only the first time.
 *
 *   npm run build && npx aana-host build-native
 *   node native/bench/llama-server/build.mjs
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../../dist/host/base/config/index.js';
import { llamaServerPath } from '../../../dist/host/test/helpers/llama-server.js';
import { LLAMA_VERSION } from '../../../dist/host/setup/native-build/pins.js';

const { cache_dir: cacheDir } = loadConfig();
const platform = `${process.platform}-${process.arch}`;
const libraries = join(cacheDir, 'native', `${platform}-${LLAMA_VERSION}`, 'package', 'bins', platform);
const sources = join(cacheDir, 'native', `llama.cpp-${LLAMA_VERSION}`);
const folder = dirname(llamaServerPath(cacheDir));
const programs = ['llama-server', 'llama-batched-bench'];
const missing = programs.filter((name) => !existsSync(join(folder, name)));
if (missing.length > 0) {
  for (const needed of [libraries, sources])
    if (!existsSync(needed)) throw new Error(`${needed} is missing: run npx aana-host build-native`);
  const work = mkdtempSync(join(tmpdir(), 'aana-llama-server-'));
  const run = (command, ...args) => execFileSync(command, args, { stdio: ['ignore', 2, 2] });
  try {
    run(
      'cmake',
      '-S',
      dirname(fileURLToPath(import.meta.url)),
      '-B',
      work,
      '-DCMAKE_BUILD_TYPE=Release',
      `-DAANA_LLAMA_DIR=${sources}`,
      `-DAANA_PREBUILT_DIR=${libraries}`,
    );
    run('cmake', '--build', work, '--parallel', '2', '--target', ...missing);
    mkdirSync(folder, { recursive: true });
    // ggml looks for its backends beside the program.
    for (const name of readdirSync(libraries).filter((file) => file.endsWith('.so'))) {
      rmSync(join(folder, name), { force: true });
      symlinkSync(join(libraries, name), join(folder, name));
    }
    for (const name of missing) {
      execFileSync('cp', [join(work, name), join(folder, `${name}.new`)]);
      renameSync(join(folder, `${name}.new`), join(folder, name));
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
for (const name of programs) console.log(join(folder, name));
