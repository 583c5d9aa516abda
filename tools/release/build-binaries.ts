import { dirname, join } from 'node:path';
import { silentLogger } from '../../host/base/core/log/logger.ts';
import {
  type Binaries,
  buildNative,
  buildSandbox,
  buildSqlite,
  checkRuns,
  compileAddon,
  compileSandbox,
  compileSqlite,
  defaultJobs,
  platformName,
} from '../../host/setup/native-build/index.ts';
import { CROSS_PLATFORMS } from './cross-platforms.ts';

/**
 * Builds what a prebuilt package for a platform contains, in the new folder `work` if it is not that of this machine.
 */
export async function buildBinaries(platform: string, work: string, cacheDir: string): Promise<Binaries> {
  if (platform !== platformName) return crossCompile(platform, work, cacheDir);
  const { addon } = await buildNative({ cacheDir, log: silentLogger, mode: 'prebuilt', cuda: 'off', vulkan: 'off' });
  const sqlite = await buildSqlite({ cacheDir, log: silentLogger });
  const { program } = await buildSandbox({ cacheDir, log: silentLogger });
  return { addonFolder: dirname(addon), sqliteFolder: dirname(dirname(sqlite)), sandboxFolder: dirname(program) };
}

async function crossCompile(platform: string, work: string, cacheDir: string): Promise<Binaries> {
  const toolchain = CROSS_PLATFORMS.find((one) => one.platform === platform);
  if (toolchain === undefined) {
    const known = CROSS_PLATFORMS.map((one) => one.platform).join(', ');
    throw new Error(`this machine cannot compile for ${platform}, only for ${platformName} and ${known}`);
  }
  checkRuns(toolchain.needs.command, toolchain.needs.install);
  const addonFolder = join(work, 'addon');
  const options = { toolchain, cacheDir, log: silentLogger, env: process.env };
  await compileAddon({
    ...options,
    mode: 'prebuilt',
    images: true,
    folder: addonFolder,
    out: join(work, 'cmake'),
    jobs: defaultJobs(),
  });
  return {
    addonFolder,
    sqliteFolder: await compileSqlite({ ...options, work: join(work, 'sqlite') }),
    sandboxFolder: await compileSandbox({ ...options, work: join(work, 'sandbox') }),
  };
}
