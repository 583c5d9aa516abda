import { assignedGpus, type NativeBinding, type NativeDevice } from '../../../native/lib/index.ts';
import type { GpuMemory } from '../rpc/replica-memory.ts';

/**
 * Measures how much GPU memory this process uses: the free memory before a model is loaded, minus the free memory now.
 * Memory that other programs take or free in between is counted too.
 */
export class GpuMemoryWatch {
  readonly #native: Pick<NativeBinding, 'devices'>;
  readonly #isUsed: boolean;
  readonly #freeAtFirst: readonly number[];

  /** Must be constructed before the model is loaded. If `isUsed` is false, no GPU is measured. */
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

  /** Returns the GPUs that this process was given, in their order. */
  #gpus(): NativeDevice[] {
    if (!this.#isUsed) return [];
    const gpus = this.#native.devices().filter(({ type }) => type === 'gpu');
    const names = assignedGpus();
    return names.length === 0 ? gpus : names.flatMap((name) => gpus.find((gpu) => gpu.name === name) ?? []);
  }
}
