/**
 * - `starting`: loads its model and takes no calls
 * - `ready`: takes calls
 * - `draining`: finishes its calls and takes no new ones
 * - `stopped`: has no calls and is about to end
 * - `exited`: the process is gone
 */
export type ReplicaState = 'starting' | 'ready' | 'draining' | 'stopped' | 'exited';

/**
 * `loaded`: the process reported that it is ready. `drain`: it must take no more calls. `drained`: no call is left, or
 * the rest were given up. `exit`: the process is gone.
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
 * Returns the state after `event`, or undefined when the event is invalid in `state`, such as `loaded` after `drain`.
 */
export function nextState(state: ReplicaState, event: ReplicaEvent): ReplicaState | undefined {
  return TRANSITIONS[state][event];
}
