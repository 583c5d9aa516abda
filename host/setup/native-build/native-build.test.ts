import { existsSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nativeAddonPath } from '../../../native/lib/index.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { skip } from '../../test/skip.ts';
import { buildNative } from './index.ts';
import { hashInputs } from './inputs.ts';
import {
  CUDA_LIBRARIES,
  GPU_BACKENDS,
  LLAMA_SOURCE,
  LLAMA_VERSION,
  PREBUILT_LIBRARIES,
  WHISPER_SOURCE,
} from './pins.ts';
import { defaultBuildMode, platformName } from './platform.ts';
import { checkTools } from './tools.ts';

const NativeBuild = suite('buildNative');

NativeBuild('pins every package by its checksum, and llama.cpp to a single version', () => {
  const backends = Object.values(GPU_BACKENDS).flatMap((byPlatform) => Object.values(byPlatform));
  const llama = [LLAMA_SOURCE, ...Object.values(PREBUILT_LIBRARIES), ...backends];
  for (const source of [...llama, WHISPER_SOURCE]) {
    assert.is(source.registry, 'npm');
    assert.is(Buffer.from(/^sha512-(.+)$/.exec(source.integrity ?? '')?.[1] ?? '', 'base64').length, 64, source.name);
  }
  for (const source of llama) assert.is(source.version, LLAMA_VERSION);
  for (const { registry, name, integrity, platform } of Object.values(CUDA_LIBRARIES)) {
    assert.is(registry, 'pypi');
    assert.match(integrity ?? '', /^[0-9a-f]{64}$/, name);
    assert.match(platform ?? '', /^manylinux/, name);
  }
});

NativeBuild('builds from source if no libraries are published for the platform', () => {
  if (!PREBUILT_LIBRARIES[platformName]) assert.is(defaultBuildMode(), 'source');
  assert.ok(['prebuilt', 'source'].includes(defaultBuildMode()));
});

NativeBuild('explains how to install each missing tool', () => {
  const error = (() => {
    try {
      checkTools({ PATH: '/nonexistent' });
      return undefined;
    } catch (thrown) {
      return thrown;
    }
  })();
  assert.instance(error, Error);
  assert.is((error as Error).name, 'MissingBuildTool');
  assert.match((error as Error).message, /C\+\+ compiler is missing: install it \(.*g\+\+/);
  assert.match(
    (error as Error).message,
    'cmake is missing: install it (Debian/Ubuntu: apt-get install cmake; macOS: brew install cmake)',
  );
  assert.match((error as Error).message, 'git is missing: install it');
});

NativeBuild('accepts a build as current only with the same sources and mode', async () => {
  const choice = { platform: platformName, mode: 'prebuilt' } as const;
  const hash = await hashInputs(choice);
  assert.match(hash, /^[0-9a-f]{64}$/);
  assert.is(await hashInputs(choice), hash);
  assert.is.not(await hashInputs({ ...choice, mode: 'source' }), hash);
  assert.is.not(await hashInputs({ ...choice, platform: 'linux-riscv64' }), hash);
});

if (existsSync(nativeAddonPath(packageRoot))) {
  NativeBuild('does nothing when nothing has changed, also when called twice at a time', async () => {
    const options = {
      cacheDir: process.env['AANA_CACHE_DIR'] ?? '',
      log: silentLogger,
      mode: process.env['AANA_BUILD'] as 'auto' | undefined,
    };
    const results = await Promise.all([buildNative(options), buildNative(options)]);
    for (const result of results)
      assert.equal(result, { addon: nativeAddonPath(packageRoot), mode: result.mode, rebuilt: false });
  });
} else {
  skip('buildNative does nothing when nothing has changed', 'the native addon is not built');
}

NativeBuild.run();
