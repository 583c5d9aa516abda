/**
 * - `placing`: looking for a place for one more replica of the new version
 * - `making-room`: there is no place; a replica of the old version finishes its calls and ends first
 * - `starting`: a replica of the new version is loading
 * - `settling`: the new replica has loaded and gets no calls yet
 * - `watching`: the new replica takes calls beside the old ones
 * - `retiring`: surplus old replicas finish their calls and end
 * - `restoring`: the new version failed; its replicas end, and replicas of the old version start again
 * - `done`, `rolled-back`, `stopped`: the update has ended
 */
export type UpdateState =
  | 'placing'
  | 'making-room'
  | 'starting'
  | 'settling'
  | 'watching'
  | 'retiring'
  | 'restoring'
  | 'done'
  | 'rolled-back'
  | 'stopped';

/**
 * `placed`: a new replica has its place. `no-room`: there is no free place. `enough`: all new replicas run, and old
 * ones are left. `complete`: all new replicas run, and no old one is left. `left`: an old replica is gone. `ready`: the
 * new replica has loaded. `settled`, `stable`: it stayed up for a while, without and with calls. `broken`: the new
 * version cannot start, its replicas die repeatedly, or most of its calls fail by its own fault. `restored`: the old
 * version is restored. `stop`: the deployment ends.
 */
export type UpdateEvent =
  | 'placed'
  | 'no-room'
  | 'enough'
  | 'complete'
  | 'left'
  | 'ready'
  | 'settled'
  | 'stable'
  | 'broken'
  | 'restored'
  | 'stop';

const TRANSITIONS: Readonly<Record<UpdateState, Readonly<Partial<Record<UpdateEvent, UpdateState>>>>> = {
  placing: {
    placed: 'starting',
    'no-room': 'making-room',
    enough: 'retiring',
    complete: 'done',
    broken: 'restoring',
    stop: 'stopped',
  },
  'making-room': { placed: 'starting', left: 'placing', broken: 'restoring', stop: 'stopped' },
  starting: { ready: 'settling', broken: 'restoring', stop: 'stopped' },
  settling: { settled: 'watching', broken: 'restoring', stop: 'stopped' },
  watching: { stable: 'retiring', broken: 'restoring', stop: 'stopped' },
  retiring: { left: 'placing', broken: 'restoring', stop: 'stopped' },
  restoring: { restored: 'rolled-back', stop: 'stopped' },
  done: {},
  'rolled-back': {},
  stopped: {},
};

/**
 * Returns the state after `event`, or undefined when the event is invalid in `state`, such as `broken` in `restoring`.
 */
export function nextUpdateState(state: UpdateState, event: UpdateEvent): UpdateState | undefined {
  return TRANSITIONS[state][event];
}
