import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PREBUILT_LIBRARIES } from '../../host/setup/native-build/pins.ts';
import { buildBinaries } from './build-binaries.ts';
import { CROSS_PLATFORMS } from './cross-platforms.ts';

const Binaries = suite('buildBinaries');

Binaries('knows each platform once, and libraries of llama.cpp are published for it', () => {
  const names = CROSS_PLATFORMS.map(({ platform }) => platform);
  assert.equal(names, [...new Set(names)]);
  for (const name of names) assert.ok(PREBUILT_LIBRARIES[name], name);
});

Binaries('names the platforms for which it can compile', async () => {
  const error = (await buildBinaries('linux-riscv64', '/nonexistent', '/nonexistent').catch(
    (thrown: unknown) => thrown,
  )) as Error;
  assert.match(error.message, /cannot compile for linux-riscv64, only for .* and linux-arm64/);
});

Binaries.run();
