/**
 * - `starting`: the process is loading the model
 * - `serving`: the process takes calls, or finishes its last ones
 * - `resting`: the process is gone; the next one starts after a delay
 * - `failed`: given up; no process is started
 * - `retiring`: no longer needed; the process is ending
 * - `gone`: there is no process and never will be
 */
export type SlotState = 'starting' | 'serving' | 'resting' | 'failed' | 'retiring' | 'gone';

/**
 * `ready`: the model is loaded. `lost`: the process is gone and will be restarted. `retry`: the delay is over.
 * `give-up`: another start would fail, too. `retire`: the slot is no longer needed. `ended`: the last process is gone.
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
 * Returns the state after `event`, or undefined when the event is invalid in `state`, such as `ready` in `retiring`.
 */
export function nextSlotState(state: SlotState, event: SlotEvent): SlotState | undefined {
  return TRANSITIONS[state][event];
}
