import { fail } from '../../../base/core/errors.ts';
import type { HandleOptionsInput } from '../handle/handle-options.ts';
import type { DescribedHandle } from '../handle/typed-handle.ts';

/** Returns the handle of a key. */
export type MakeHandle = (key: string, options: HandleOptionsInput | undefined) => DescribedHandle;

/** A symbol and not a private field, because the class may come from another copy of this package than the replica. */
const HANDLES = Symbol.for('aana-host.handles');

interface WithHandles {
  [HANDLES]?: MakeHandle;
}

/** Gives an object of a deployment class its handles. */
export function attachHandles(deployment: object, make: MakeHandle): void {
  (deployment as WithHandles)[HANDLES] = make;
}

/** Returns what {@link attachHandles} gave. Throws `NotReady` before. */
export function handlesOf(deployment: object): MakeHandle {
  const make = (deployment as WithHandles)[HANDLES];
  if (make) return make;
  const { name } = deployment.constructor;
  throw fail('NotReady', `${name}: handles can be made in a replica, from applyConfig() on, not in the constructor`);
}
