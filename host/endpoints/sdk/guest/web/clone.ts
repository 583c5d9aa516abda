/** Names the method of those classes of the web whose objects `structuredClone` copies. */
export const CLONE = Symbol('clone');

export interface Cloneable {
  [CLONE](): object;
}
