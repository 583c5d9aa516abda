import type { NativeGpuBackend } from '../../../native/lib/index.ts';
import type { GpuProblem } from './machine.ts';

/** Oldest driver of NVIDIA with which programs of CUDA 13 run. */
const OLDEST_DRIVER = 580;
const NAMES = { cuda: 'CUDA', vulkan: 'Vulkan' } as const;

/** What a library belongs to, and how to get it. */
const LIBRARIES: readonly (readonly [name: RegExp, part: string, advice: string])[] = [
  [
    /^libcuda\.so/,
    "a part of NVIDIA's driver",
    `install the driver ${OLDEST_DRIVER} or later; a container gets it with its GPUs (--gpus all)`,
  ],
  [/^libcu(dart|blas)/, 'a part of CUDA 13', 'run aana-host build-native, which fetches it, or install CUDA 13'],
  [
    /^libvulkan\.so/,
    'the loader of Vulkan',
    'install it (Debian, Ubuntu: apt-get install libvulkan1 mesa-vulkan-drivers; Fedora: dnf install vulkan-loader ' +
      'mesa-vulkan-drivers)',
  ],
];

/** Returns in plain words why a backend has no devices. Undefined if it has some. */
export function backendProblem({ name, problem }: NativeGpuBackend): GpuProblem | undefined {
  if (problem === undefined) return undefined;
  const backend = `the ${NAMES[name]} backend`;
  const missing = /(\S+): cannot open shared object file/.exec(problem)?.[1];
  if (missing !== undefined) {
    const [, part, advice] = LIBRARIES.find(([library]) => library.test(missing)) ?? [];
    return {
      found: `${backend} does not load: ${missing} is missing${part === undefined ? '' : `, ${part}`}`,
      advice: advice ?? 'install the package that contains it',
    };
  }
  const version = /version [`']([^']+)' not found/.exec(problem)?.[1];
  if (version !== undefined)
    return {
      found: `${backend} does not load: a library of this system is too old, because ${version} is missing`,
      advice: 'use a newer release of the system',
    };
  if (/driver version is insufficient/.test(problem))
    return {
      found: `${backend} finds no GPU: NVIDIA's driver is too old for CUDA 13`,
      advice: `install the driver ${OLDEST_DRIVER} or later`,
    };
  if (/no CUDA-capable device/.test(problem))
    return {
      found: `${backend} finds no GPU: NVIDIA's driver shows none to this process`,
      advice: 'see nvidia-smi and CUDA_VISIBLE_DEVICES; start a container with its GPUs (--gpus all)',
    };
  if (name === 'vulkan')
    return {
      found: `${backend} finds no GPU${/it finds no GPU|returned NULL/.test(problem) ? '' : `: ${problem}`}`,
      advice:
        "install the GPU's driver (Debian, Ubuntu: mesa-vulkan-drivers), and let this user open /dev/dri/renderD* " +
        '(group render)',
    };
  return { found: `${backend} does not work: ${problem}`, advice: 'see nvidia-smi; a restart of the machine may help' };
}
