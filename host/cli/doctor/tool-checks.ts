import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../base/core/package-root.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { LogRing } from '../../base/core/log/log-ring.ts';
import { builtinDefinitions } from '../../inference/deployments/index.ts';
import { listAddonGpus } from '../../inference/devices/addon-devices.ts';
import { findFfmpeg, requireYtDlp } from '../../io/media/index.ts';
import { ModelStore } from '../../setup/models/index.ts';
import { nativeAddonPath } from '../../../native/lib/index.ts';
import { buildToolsProblem, isNativeCurrent } from '../../setup/native-build/index.ts';
import { type Check, type CheckResult, fail, ok, reasonOf, warn } from './check.ts';

export const nodeCheck: Check = {
  name: 'node',
  needsConfig: false,
  run: async () => {
    const { engines } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
      engines: { node: string };
    };
    const least = /\d+\.\d+/.exec(engines.node)?.[0] ?? '0.0';
    const found = `${process.version} on ${process.platform}-${process.arch}`;
    return [
      isAtLeast(process.versions.node, least)
        ? ok('node', found)
        : fail('node', found, `install Node ${least} or later`),
    ];
  },
};

/** Returns whether a version such as `20.19.1` is `least` (`20.19`) or later. */
export function isAtLeast(version: string, least: string): boolean {
  const [[major = 0, minor = 0], [leastMajor = 0, leastMinor = 0]] = [version, least].map((text) =>
    text.split('.').map(Number),
  ) as [number[], number[]];
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

/** Whether the addon of the engines is built and loads, or could be built. */
export const addonCheck: Check = {
  name: 'native addon',
  needsConfig: false,
  run: async ({ config, env, signal }) => {
    const types = Object.values(config.deployments).map(({ type }) => type);
    if (config.app === null && !types.some((type) => builtinDefinitions.some(({ name }) => name === type)))
      return [ok('native addon', 'not needed by the deployments of the configuration')];
    if (!(await isNativeCurrent(config.native_build))) return [unbuiltAddon(env)];
    const ring = new LogRing();
    const loaded = await listAddonGpus({ env, log: ring.tap(silentLogger, () => 'warn'), timeoutMs: 30_000, signal });
    if (loaded) return [ok('native addon', `${nativeAddonPath(packageRoot)} loads`)];
    const reasons: string[] = [];
    for await (const { fields } of ring.read({ lines: 10, follow: false })) reasons.push(String(fields['reason']));
    return [
      fail('native addon', `does not load: ${reasons.join('; ')}`, 'build it again: aana-host build-native --force'),
    ];
  },
};

function unbuiltAddon(env: NodeJS.ProcessEnv): CheckResult {
  const found = existsSync(nativeAddonPath(packageRoot)) ? 'built for another version' : 'not built yet';
  const problem = buildToolsProblem(env);
  return problem === undefined
    ? warn('native addon', found, 'the next start builds it; aana-host build-native does so now')
    : fail('native addon', `${found}, and it cannot be built`, problem);
}

/** The programs for media. */
export const ffmpegCheck: Check = {
  name: 'ffmpeg',
  needsConfig: false,
  run: async ({ config, signal }) => {
    const { ffmpeg_path: configured, yt_dlp_path: ytDlp } = config.media;
    const { offline } = config.models;
    const results: CheckResult[] = [];
    try {
      const store = new ModelStore({ cacheDir: config.cache_dir, log: silentLogger, offline: true });
      const found = await findFfmpeg({
        configured,
        cached: await store.resolveTool('ffmpeg'),
        log: silentLogger,
        signal,
      });
      if (found) results.push(ok('ffmpeg', `${found.version} (${found.path})`));
      else if (offline) results.push(fail('ffmpeg', 'missing', 'install ffmpeg, or set media.ffmpeg_path'));
      else results.push(warn('ffmpeg', 'missing', 'the first use of media fetches it; or install ffmpeg'));
    } catch (error) {
      results.push(fail('ffmpeg', reasonOf(error), 'correct media.ffmpeg_path, or remove it'));
    }
    if (ytDlp !== null)
      results.push(
        await requireYtDlp(ytDlp).then(
          () => ok('yt-dlp', ytDlp),
          (error: unknown) => fail('yt-dlp', reasonOf(error), 'correct media.yt_dlp_path, or remove it'),
        ),
      );
    return results;
  },
};
