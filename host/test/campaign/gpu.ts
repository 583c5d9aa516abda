// Fetches ggml's real backends for GPUs and the libraries of CUDA (590 MB), and takes each library away in turn:
// `node gpu.js [folder]`, which keeps the folder. Prints what the addon and the doctor say, and ends with status 1 if a
// missing library is not named. Needs no GPU. A stand-in for NVIDIA's driver finds no device. Libraries that the loader
// of this machine finds are not fetched, and cannot be taken away.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createLogger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { backendProblem } from '../../inference/devices/backend-problem.ts';
import { isComplete, prepareGpuBackend } from '../../setup/native-build/gpu-backends.ts';
import { CUDA_LIBRARIES } from '../../setup/native-build/pins.ts';
import { nativeAddonPath, type NativeGpuBackend } from '../../../native/lib/index.ts';

const [kept] = process.argv.slice(2);
const cacheDir = kept === undefined ? mkdtempSync(join(tmpdir(), 'aana-gpu-campaign-')) : resolve(kept);
const log = createLogger({ level: 'info', format: 'text', write: (line) => process.stderr.write(line) });
const { LD_LIBRARY_PATH: _, ...env } = process.env;
const addonPath = nativeAddonPath(packageRoot);

try {
  const [cuda, vulkan] = [
    await prepareGpuBackend('cuda', { cacheDir, log, env }),
    await prepareGpuBackend('vulkan', { cacheDir, log, env }),
  ];
  const driver = join(cacheDir, 'driver');
  mkdirSync(driver, { recursive: true });
  const source = join(packageRoot, 'native/lib/fixtures/cuda-driver.c');
  execFileSync('cc', ['-shared', '-fPIC', '-o', join(driver, 'libcuda.so.1'), source]);
  report('CUDA without a driver', cuda, undefined, 'libcuda.so.1');
  report('CUDA with a driver that finds no device', cuda, driver, 'finds no GPU');
  for (const name of Object.keys(CUDA_LIBRARIES)) {
    const link = join(cuda, name);
    if (existsSync(link)) renameSync(link, `${link}.away`);
    if (await isComplete(cuda, 'cuda', env)) process.stdout.write(`SKIP  CUDA without ${name}: this machine has it\n`);
    else report(`CUDA without ${name}`, cuda, driver, name);
    if (existsSync(`${link}.away`)) renameSync(`${link}.away`, link);
  }
  report('Vulkan', vulkan, undefined, 'Vulkan');
} finally {
  if (kept === undefined) rmSync(cacheDir, { recursive: true });
}

/** Prints what is wrong with the backend of a folder, which must contain `expected`. */
function report(title: string, folder: string, libraries: string | undefined, expected: string): void {
  const given = { addonPath, backendDirectories: [dirname(addonPath), folder] };
  const loader = JSON.stringify(new URL('../../../native/lib/load.js', import.meta.url));
  const program = `import { loadNative } from ${loader};
    process.stdout.write(JSON.stringify(loadNative(${JSON.stringify(given)}).gpuBackends()));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...env, ...(libraries !== undefined && { LD_LIBRARY_PATH: libraries }) },
    encoding: 'utf8',
  });
  const [backend] = JSON.parse(output) as readonly NativeGpuBackend[];
  const problem = backend && backendProblem(backend);
  const isRight = problem?.found.includes(expected) ?? expected === 'Vulkan'; // this machine may have a GPU of Vulkan
  if (!isRight) process.exitCode = 1;
  process.stdout.write(
    `${isRight ? 'ok  ' : 'FAIL'}  ${title}\n      loader  ${backend?.problem ?? 'no problem'}\n` +
      (problem ? `      doctor  ${problem.found}\n              → ${problem.advice}\n` : ''),
  );
}
