/**
 * Builds llama-server for tests and benchmarks beside the engine, from the same sources and with the same libraries.
 * Prints its path. It takes about 7 minutes of computing, and only the first time.
 *
 *   npm run build && npx aana-host build-native
 *   node native/bench/llama-server/build.mjs
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../../dist/host/config/index.js';
import { llamaServerPath } from '../../../dist/host/test/helpers/llama-server.js';
import { LLAMA_VERSION } from '../../../dist/host/native-build/pins.js';

const { cache_dir: cacheDir } = loadConfig();
const platform = `${process.platform}-${process.arch}`;
const libraries = join(cacheDir, 'native', `${platform}-${LLAMA_VERSION}`, 'package', 'bins', platform);
const sources = join(cacheDir, 'native', `llama.cpp-${LLAMA_VERSION}`);
const server = llamaServerPath(cacheDir);
if (!existsSync(server)) {
  for (const folder of [libraries, sources])
    if (!existsSync(folder)) throw new Error(`${folder} is missing: run npx aana-host build-native`);
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
    run('cmake', '--build', work, '--parallel', '2');
    mkdirSync(dirname(server), { recursive: true });
    // ggml looks for its backends beside the program.
    for (const name of readdirSync(libraries).filter((file) => file.endsWith('.so'))) {
      rmSync(join(dirname(server), name), { force: true });
      symlinkSync(join(libraries, name), join(dirname(server), name));
    }
    execFileSync('cp', [join(work, 'llama-server'), `${server}.new`]);
    renameSync(`${server}.new`, server);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
console.log(server);
