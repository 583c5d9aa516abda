/**
 * - `starting`: its process loads the model
 * - `serving`: its process takes calls, or finishes those that it has
 * - `resting`: its process is gone; the next one starts after a while
 * - `failed`: given up; it starts no process by itself
 * - `retiring`: not wanted any more; its process is ending
 * - `gone`: has no process and will have none
 */
export type SlotState = 'starting' | 'serving' | 'resting' | 'failed' | 'retiring' | 'gone';

/**
 * `ready`: the model is loaded. `lost`: the process is gone, another try is due. `retry`: it rested enough. `give-up`:
 * another try would fail too. `retire`: it is not wanted any more. `ended`: the last process is gone.
 */
export type SlotEvent = 'ready' | 'lost' | 'retry' | 'give-up' | 'retire' | 'ended';

const TRANSITIONS: Readonly<Record<SlotState, Readonly<Partial<Record<SlotEvent, SlotState>>>>> = {
  starting: { ready: 'serving', lost: 'resting', 'give-up': 'failed', retire: 'retiring' },
  serving: { lost: 'resting', retire: 'retiring' },
  resting: { retry: 'starting', retire: 'retiring' },
  failed: { retire: 'retiring' },
  retiring: { ended: 'gone' },
  gone: {},
};

/**
 * The state after `event`; undefined when the event means nothing in `state`, such as `ready` of one that is retiring.
 */
export function nextSlotState(state: SlotState, event: SlotEvent): SlotState | undefined {
  return TRANSITIONS[state][event];
}
