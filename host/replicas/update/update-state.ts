/**
 * - `placing`: looks for a place for one more replica of the new version
 * - `making-room`: there is none; a replica of the old version finishes its calls and goes first
 * - `starting`: a replica of the new version loads
 * - `settling`: it has loaded and gets no calls yet
 * - `watching`: it takes calls beside the old ones
 * - `retiring`: old replicas, as many as are too many now, finish their calls and go
 * - `restoring`: the new version is no good; the old one comes back where it had gone, and the new one goes
 * - `done`, `rolled-back`, `stopped`: the end
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
 * `placed`: a new replica has its place. `no-room`: there is none as things are. `enough`: there are as many new ones
 * as there should be, and old ones are left. `complete`: the same, and no old one is left. `left`: an old one is gone.
 * `ready`: the new one has loaded. `settled`, `stable`: it stayed up for a while, without and with calls. `broken`: the
 * new version cannot start, its replicas die again and again, or most calls on it fail by its fault. `restored`: the
 * old version is what it was. `stop`: the deployment ends.
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
 * The state after `event`; undefined when the event means nothing in `state`, such as `broken` of an update that is
 * being taken back already.
 */
export function nextUpdateState(state: UpdateState, event: UpdateEvent): UpdateState | undefined {
  return TRANSITIONS[state][event];
}
