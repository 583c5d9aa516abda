import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nextSlotState, type SlotEvent, type SlotState } from './slot-state.ts';

const States = suite('the states of a slot');

const STATES: readonly SlotState[] = ['starting', 'serving', 'resting', 'failed', 'retiring', 'gone'];
/** The state after each event, for the states above in their order. */
const TABLE: Readonly<Record<SlotEvent, readonly (SlotState | undefined)[]>> = {
  ready: ['serving', undefined, undefined, undefined, undefined, undefined],
  lost: ['resting', 'resting', undefined, undefined, undefined, undefined],
  retry: [undefined, undefined, 'starting', undefined, undefined, undefined],
  'give-up': ['failed', undefined, undefined, undefined, undefined, undefined],
  retire: ['retiring', 'retiring', 'retiring', 'retiring', undefined, undefined],
  ended: [undefined, undefined, undefined, undefined, 'gone', undefined],
};
for (const [event, expected] of Object.entries(TABLE) as [SlotEvent, readonly (SlotState | undefined)[]][]) {
  for (const [index, state] of STATES.entries()) {
    States(`${state}: ${event} ${expected[index] ? `leads to ${expected[index]}` : 'means nothing'}`, () => {
      assert.is(nextSlotState(state, event), expected[index]);
    });
  }
}

States.run();
