/**
 * - `starting`: the process loads its model; takes no calls
 * - `ready`: takes calls
 * - `draining`: finishes the calls it has
 * - `stopped`: told to end, all calls done
 * - `exited`: the process is gone
 */
export type ReplicaState = 'starting' | 'ready' | 'draining' | 'stopped' | 'exited';

/**
 * `loaded`: it said that it is ready. `drain`: take no more calls. `drained`: no call is left, or they were given up.
 * `exit`: the process is gone.
 */
export type ReplicaEvent = 'loaded' | 'drain' | 'drained' | 'exit';

const TRANSITIONS: Readonly<Record<ReplicaState, Readonly<Partial<Record<ReplicaEvent, ReplicaState>>>>> = {
  starting: { loaded: 'ready', drain: 'stopped', exit: 'exited' },
  ready: { drain: 'draining', exit: 'exited' },
  draining: { drained: 'stopped', exit: 'exited' },
  stopped: { exit: 'exited' },
  exited: {},
};

/**
 * The state after `event`; undefined when the event means nothing in `state`, such as a `loaded` that comes after
 * `drain`.
 */
export function nextState(state: ReplicaState, event: ReplicaEvent): ReplicaState | undefined {
  return TRANSITIONS[state][event];
}
