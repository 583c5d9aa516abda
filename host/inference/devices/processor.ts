import { readFileSync } from 'node:fs';

/**
 * What the engine's kernels for matrices need, one of these sets; `native/src/core/compute/kernel_sets.cc` asks for the
 * same.
 */
const KERNEL_FLAGS = [
  ['avx2', 'fma'],
  ['avx512f', 'avx512bw', 'avx512vl', 'avx512dq', 'avx512_vnni'],
];

/** Whether the processor has the instructions of the engine's own kernels. Known on Linux only; elsewhere false. */
export function hasEngineKernels(read: () => string = () => readFileSync('/proc/cpuinfo', 'utf8')): boolean {
  if (process.arch !== 'x64') return false;
  let text: string;
  try {
    text = read();
  } catch {
    return false;
  }
  const flags = new Set(/^flags\s*:(.*)$/m.exec(text)?.[1]?.trim().split(/\s+/));
  return KERNEL_FLAGS.some((set) => set.every((flag) => flags.has(flag)));
}
