import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type DeploymentEvent, type DeploymentState, nextDeploymentState } from './deployment-state.ts';

const States = suite('the states of a deployment');

const STATES: readonly DeploymentState[] = [
  'registered',
  'starting',
  'serving',
  'changing',
  'failed',
  'unloading',
  'unloaded',
  'removing',
  'gone',
];
/** The state after each event, for the states above in their order. */
const TABLE: Readonly<Record<DeploymentEvent, readonly (DeploymentState | undefined)[]>> = {
  start: ['starting', undefined, undefined, undefined, 'starting', undefined, 'starting', undefined, undefined],
  skip: ['unloaded', ...Array.from({ length: 8 }, () => undefined)],
  started: [undefined, 'serving', undefined, undefined, undefined, undefined, undefined, undefined, undefined],
  fail: [undefined, 'failed', 'failed', undefined, undefined, undefined, undefined, undefined, undefined],
  change: [undefined, undefined, 'changing', undefined, 'changing', undefined, undefined, undefined, undefined],
  changed: [undefined, undefined, undefined, 'serving', undefined, undefined, undefined, undefined, undefined],
  unload: [undefined, undefined, 'unloading', undefined, 'unloading', undefined, undefined, undefined, undefined],
  unloaded: [undefined, undefined, undefined, undefined, undefined, 'unloaded', undefined, undefined, undefined],
  remove: [...Array.from({ length: 7 }, () => 'removing' as const), undefined, undefined],
  removed: [undefined, undefined, undefined, undefined, undefined, undefined, undefined, 'gone', undefined],
};
for (const [event, expected] of Object.entries(TABLE) as [
  DeploymentEvent,
  readonly (DeploymentState | undefined)[],
][]) {
  for (const [index, state] of STATES.entries()) {
    States(`${state}: ${event} ${expected[index] ? `leads to ${expected[index]}` : 'means nothing'}`, () => {
      assert.is(nextDeploymentState(state, event), expected[index]);
    });
  }
}

States.run();
