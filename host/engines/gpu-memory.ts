import { assignedGpus, type NativeBinding, type NativeDevice } from '../../native/lib/index.ts';
import type { GpuMemory } from '../rpc/replica-memory.ts';

/**
 * Follows what this process uses of its GPUs: their free memory before it loads a model, against that at any later
 * time. What other programs take or give meanwhile is in it, too.
 */
export class GpuMemoryWatch {
  readonly #native: Pick<NativeBinding, 'devices'>;
  readonly #isUsed: boolean;
  readonly #freeAtFirst: readonly number[];

  /** To be made before a model is loaded. Without `isUsed` there are no GPUs to follow. */
  constructor(native: Pick<NativeBinding, 'devices'>, isUsed: boolean) {
    this.#native = native;
    this.#isUsed = isUsed;
    this.#freeAtFirst = this.#gpus().map(({ memoryFreeBytes }) => memoryFreeBytes);
  }

  read(): GpuMemory[] {
    return this.#gpus().map(({ memoryFreeBytes: freeBytes }, index) => ({
      usedBytes: Math.max(0, (this.#freeAtFirst[index] ?? freeBytes) - freeBytes),
      freeBytes,
    }));
  }

  /** Those that this process was given, in their order. */
  #gpus(): NativeDevice[] {
    if (!this.#isUsed) return [];
    const gpus = this.#native.devices().filter(({ type }) => type === 'gpu');
    const names = assignedGpus();
    return names.length === 0 ? gpus : names.flatMap((name) => gpus.find((gpu) => gpu.name === name) ?? []);
  }
}
