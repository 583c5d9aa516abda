import { running } from './running.ts';

/**
 * Seeds `Math.random` from the host when a run first uses it, because the interpreter's generator would give every run
 * the same numbers. The interpreter's generator is used while the component is built.
 */
export function installRandom(randomBytes: (length: number) => Uint8Array): void {
  const atBuild = Math.random;
  let state: Uint32Array | undefined;
  const random = (): number => {
    if (!running.isOn) return atBuild();
    state ??= new Uint32Array(randomBytes(16).slice().buffer);
    return ((next(state) >>> 5) * 0x4000000 + (next(state) >>> 6)) / 2 ** 53;
  };
  Object.defineProperty(Math, 'random', { value: random, writable: true, configurable: true });
}

/** Computes one step of the generator sfc32 (C. Doty-Humphrey, PractRand). */
function next(state: Uint32Array): number {
  const [a, b, c, counter] = state as unknown as [number, number, number, number];
  const sum = (a + b + counter) | 0;
  state[0] = b ^ (b >>> 9);
  state[1] = c + (c << 3);
  state[2] = ((c << 21) | (c >>> 11)) + sum;
  state[3] = counter + 1;
  return sum;
}
