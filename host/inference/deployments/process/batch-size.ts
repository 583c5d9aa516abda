import { type AanaError, fail } from '../../../base/core/errors.ts';
import type { BatchLimits, SetBatch } from '../class/host-batches.ts';
import { type MethodDefinition, type MethodTable, MOST_BATCH_WAIT_S } from '../class/method.ts';

const DEFAULT_WAIT_S = 0.01;

/** How many calls a method computes together. All of its batches have the same object, so it may change. */
export class BatchSize {
  readonly #most: number;
  #size: number;
  #waitS: number;

  constructor({ maxBatchSize = 1, batchWaitTimeoutS = DEFAULT_WAIT_S }: MethodDefinition) {
    this.#most = maxBatchSize;
    this.#size = maxBatchSize;
    this.#waitS = batchWaitTimeoutS;
  }

  get maxSize(): number {
    return this.#size;
  }

  get waitMs(): number {
    return this.#waitS * 1000;
  }

  /** Keeps what is not given. Throws `ValidationError`. @param what the method, for the message */
  change({ maxBatchSize: size = this.#size, batchWaitTimeoutS: waitS = this.#waitS }: BatchLimits, what: string): void {
    if (!Number.isInteger(size) || size < 1 || size > this.#most)
      throw wrong(`${what}: maxBatchSize must be a whole number from 1 to ${this.#most}, which the method declares`);
    if (typeof waitS !== 'number' || !(waitS >= 0 && waitS <= MOST_BATCH_WAIT_S))
      throw wrong(`${what}: batchWaitTimeoutS must be a number from 0 to ${MOST_BATCH_WAIT_S}`);
    this.#size = size;
    this.#waitS = waitS;
  }
}

/** Returns the sizes of the batches of a class by its methods, and the function that changes them. */
export function batchSizes(
  type: string,
  methods: MethodTable,
): { readonly sizes: ReadonlyMap<string, BatchSize>; readonly set: SetBatch } {
  const batched = Object.entries(methods).filter(([, { maxBatchSize }]) => maxBatchSize !== undefined);
  const sizes = new Map(batched.map(([name, definition]) => [name, new BatchSize(definition)]));
  const set: SetBatch = (name, limits) => {
    const what = `${type}.setBatch(${JSON.stringify(name)})`;
    const size = sizes.get(name);
    if (!size) throw wrong(`${what}: no method of this name declares maxBatchSize`);
    size.change(limits, what);
  };
  return { sizes, set };
}

const wrong = (message: string): AanaError => fail('ValidationError', message);
