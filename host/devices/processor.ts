import { readFileSync } from 'node:fs';

/** What the engine's kernels for matrices need; `native/src/core/compute/kernels.cc` asks for the same. */
const KERNEL_FLAGS = ['avx512f', 'avx512bw', 'avx512vl', 'avx512dq', 'avx512_vnni'];

/** Whether the processor has the instructions of the engine's own kernels. Known on Linux only; elsewhere false. */
export function hasVnniKernels(read: () => string = () => readFileSync('/proc/cpuinfo', 'utf8')): boolean {
  if (process.arch !== 'x64') return false;
  let text: string;
  try {
    text = read();
  } catch {
    return false;
  }
  const flags = new Set(/^flags\s*:(.*)$/m.exec(text)?.[1]?.trim().split(/\s+/));
  return KERNEL_FLAGS.every((flag) => flags.has(flag));
}
