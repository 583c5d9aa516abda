import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nextUpdateState, type UpdateEvent, type UpdateState } from './update-state.ts';

const States = suite('the states of a rolling update');

const STATES: readonly UpdateState[] = [
  'placing',
  'making-room',
  'starting',
  'settling',
  'watching',
  'retiring',
  'restoring',
  'done',
  'rolled-back',
  'stopped',
];
const EVENTS: readonly UpdateEvent[] = [
  'placed',
  'no-room',
  'enough',
  'complete',
  'left',
  'ready',
  'settled',
  'stable',
  'broken',
  'restored',
  'stop',
];
/** All valid transitions. Every other pair is invalid. */
const MEANT: Readonly<Record<string, UpdateState>> = {
  'placing placed': 'starting',
  'placing no-room': 'making-room',
  'placing enough': 'retiring',
  'placing complete': 'done',
  'placing broken': 'restoring',
  'placing stop': 'stopped',
  'making-room placed': 'starting',
  'making-room left': 'placing',
  'making-room broken': 'restoring',
  'making-room stop': 'stopped',
  'starting ready': 'settling',
  'starting broken': 'restoring',
  'starting stop': 'stopped',
  'settling settled': 'watching',
  'settling broken': 'restoring',
  'settling stop': 'stopped',
  'watching stable': 'retiring',
  'watching broken': 'restoring',
  'watching stop': 'stopped',
  'retiring left': 'placing',
  'retiring broken': 'restoring',
  'retiring stop': 'stopped',
  'restoring restored': 'rolled-back',
  'restoring stop': 'stopped',
};
for (const state of STATES) {
  for (const event of EVENTS) {
    const expected = MEANT[`${state} ${event}`];
    States(`${state}: ${event} ${expected ? `leads to ${expected}` : 'means nothing'}`, () => {
      assert.is(nextUpdateState(state, event), expected);
    });
  }
}

States.run();
