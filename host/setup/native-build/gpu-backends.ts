import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { delimiter, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from '../../base/core/log/logger.ts';
import { extractMembers, type PackageSource, type ReportProgress } from '../packages/index.ts';
import { CUDA_LIBRARIES, GPU_BACKENDS } from './pins.ts';
import { platformName } from './platform.ts';
import { locked, once } from './sources.ts';

const run = promisify(execFile);

export type GpuBackend = 'cuda' | 'vulkan';

export interface GpuWishes {
  /** Whether ggml's CUDA backend is used. `auto` uses it if this machine has an NVIDIA GPU. Default: `auto`. */
  readonly cuda?: 'auto' | 'on' | 'off' | undefined;
  /**
   * Whether ggml's Vulkan backend is used, where CUDA's is not. `auto` uses it if this machine has a GPU without
   * NVIDIA's driver. Default: `auto`.
   */
  readonly vulkan?: 'auto' | 'on' | 'off' | undefined;
}

export interface GpuBackendOptions {
  /** Backends and libraries are unpacked into `<cacheDir>/native`. */
  readonly cacheDir: string;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
  readonly report?: ReportProgress | undefined;
  /** Environment of the replicas, with their `LD_LIBRARY_PATH`. */
  readonly env: NodeJS.ProcessEnv;
}

const NVIDIA_SMI_TIMEOUT_MS = 15_000;
/** Where NVIDIA's installers put libraries that the loader may not know. */
const CUDA_FOLDER = '/usr/local/cuda/lib64';
/** What is taken out of packages: backends, libraries of CUDA, licences. */
const MEMBERS = /\/libggml-(cuda|vulkan)\.so$|\/lib(cudart|cublas|cublasLt)\.so\.13$|\/(LICENSE|License\.txt)$/;
/** Vendors of GPUs, as PCI numbers: AMD, Intel, NVIDIA. Other devices that draw belong to virtual machines. */
const GPU_VENDORS = ['0x1002', '0x8086', '0x10de'];

/** Returns the backend for GPUs that this machine should use. Undefined for the processors alone. */
export async function wantedGpuBackend(
  { cuda = 'auto', vulkan = 'auto' }: GpuWishes,
  env: NodeJS.ProcessEnv,
): Promise<GpuBackend | undefined> {
  const isPublished = (backend: GpuBackend): boolean => GPU_BACKENDS[backend][platformName] !== undefined;
  if (cuda === 'on' && isPublished('cuda')) return 'cuda';
  if (vulkan === 'on' && isPublished('vulkan')) return 'vulkan';
  const [mayCuda, mayVulkan] = [cuda === 'auto' && isPublished('cuda'), vulkan === 'auto' && isPublished('vulkan')];
  if (!mayCuda && !mayVulkan) return undefined;
  if (await hasNvidiaGpu(env)) return mayCuda ? 'cuda' : undefined;
  return mayVulkan && (await hasOtherGpu()) ? 'vulkan' : undefined;
}

/**
 * Returns whether NVIDIA's driver shows a GPU to this process. `nvidia-smi` knows; without it the files of the devices
 * count. The driver itself does not: a container sees it without any of its GPUs.
 */
export async function hasNvidiaGpu(env: NodeJS.ProcessEnv, devices = '/dev'): Promise<boolean> {
  try {
    const { stdout } = await run('nvidia-smi', ['-L'], { env, timeout: NVIDIA_SMI_TIMEOUT_MS });
    return /^GPU \d+:/m.test(stdout);
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    return isMissing && (await namesIn(devices)).some((name) => /^nvidia\d+$/.test(name));
  }
}

/** Returns whether a driver of the kernel offers a GPU for computing. */
export async function hasOtherGpu(devices = '/dev/dri', system = '/sys/class/drm'): Promise<boolean> {
  for (const name of await namesIn(devices)) {
    if (!/^renderD\d+$/.test(name)) continue;
    const vendor = await readFile(join(system, name, 'device', 'vendor'), 'utf8').catch(() => '');
    if (GPU_VENDORS.includes(vendor.trim())) return true;
  }
  return false;
}

/**
 * Fetches a backend that is published for this platform and what it needs beside the driver, unless the machine has it.
 * Returns its folder.
 */
export async function prepareGpuBackend(backend: GpuBackend, options: GpuBackendOptions): Promise<string> {
  return locked(options, 'gpu', async (root) => {
    const folder = await fetchBackend(backend, root, options);
    if (backend === 'cuda') await linkCudaLibraries(folder, root, options);
    return folder;
  });
}

/** Fetches the file of a backend alone and returns its folder. */
export async function fetchGpuBackend(backend: GpuBackend, options: GpuBackendOptions): Promise<string> {
  return locked(options, 'gpu', (root) => fetchBackend(backend, root, options));
}

/** Returns whether a backend is in its folder, and has there what it needs and the loader does not find elsewhere. */
export async function isComplete(folder: string, backend: GpuBackend, env: NodeJS.ProcessEnv): Promise<boolean> {
  if (!existsSync(join(folder, `libggml-${backend}.so`))) return false;
  return backend !== 'cuda' || (await missingLibraries(folder, env)).length === 0;
}

async function fetchBackend(backend: GpuBackend, root: string, options: GpuBackendOptions): Promise<string> {
  const name = `${platformName}-${backend}`;
  const file = join('package', 'bins', name, `libggml-${backend}.so`);
  return dirname(await fetchedFile(file, root, name, GPU_BACKENDS[backend][platformName]!, options));
}

/** Links the libraries that the loader does not find beside the backend, which looks there (RUNPATH `$ORIGIN`). */
async function linkCudaLibraries(folder: string, root: string, options: GpuBackendOptions): Promise<void> {
  for (const name of await missingLibraries(folder, options.env)) {
    let target = join(CUDA_FOLDER, name);
    if (!existsSync(target)) {
      const wheel = CUDA_LIBRARIES[name]!;
      const file = join('nvidia', 'cu13', 'lib', name);
      target = relative(folder, await fetchedFile(file, root, wheel.name, wheel, options));
    }
    const link = join(folder, name);
    await rm(`${link}.new`, { force: true });
    await symlink(target, `${link}.new`);
    await rename(`${link}.new`, link);
  }
}

/** Returns the path of a file out of a package, which is fetched again if somebody has removed the file. */
async function fetchedFile(
  file: string,
  root: string,
  label: string,
  source: PackageSource,
  options: GpuBackendOptions,
): Promise<string> {
  const fetch = (): Promise<string> =>
    once(root, label, source, options, async (archive, dir) => {
      await extractMembers(archive, MEMBERS, dir, { signal: options.signal });
      await rm(archive); // it is as large as what was in it
    });
  const folder = await fetch();
  if (existsSync(join(folder, file))) return join(folder, file);
  await rm(folder, { recursive: true });
  return join(await fetch(), file);
}

/** Returns the libraries of CUDA that are neither in the folder of the backend nor found by the loader. */
async function missingLibraries(folder: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const folders = [folder, ...(env['LD_LIBRARY_PATH'] ?? '').split(delimiter).filter(Boolean)];
  const known = await knownToLoader(env);
  return Object.keys(CUDA_LIBRARIES).filter(
    (name) => !known.has(name) && !folders.some((each) => existsSync(join(each, name))),
  );
}

/** Returns the names of all libraries in the cache of the loader. */
async function knownToLoader(env: NodeJS.ProcessEnv): Promise<ReadonlySet<string>> {
  const path = `${env['PATH'] ?? ''}:/usr/sbin:/sbin`; // where users other than root do not look
  const { stdout } = await run('ldconfig', ['-p'], { env: { ...env, PATH: path }, maxBuffer: 2 ** 24 }).catch(() => {
    return { stdout: '' };
  });
  return new Set(
    [...stdout.matchAll(/^\s+(\S+) \(.*x86-64.*\) => (\S+)$/gm)].flatMap(([, name = '', file = '']) => {
      return existsSync(file) ? [name] : [];
    }),
  );
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
