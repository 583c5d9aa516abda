import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  hasEnded,
  nextTaskStatus,
  statusesBefore,
  TASK_STATUSES,
  type TaskStatus,
  type TaskTransition,
} from './task-state.ts';

const States = suite('the statuses of a task');

/** The results of each transition from created, assigned, running, completed, failed, not_finished, cancelled. */
const TABLE: Readonly<Record<TaskTransition, readonly (TaskStatus | undefined)[]>> = {
  claim: ['running', undefined, undefined, undefined, undefined, 'running', undefined],
  complete: [undefined, undefined, 'completed', undefined, undefined, undefined, undefined],
  fail: [undefined, 'failed', 'failed', undefined, undefined, undefined, undefined],
  release: [undefined, 'not_finished', 'not_finished', undefined, undefined, undefined, undefined],
  cancel: ['cancelled', 'cancelled', 'cancelled', undefined, undefined, 'cancelled', undefined],
  retry: [undefined, undefined, undefined, undefined, 'created', undefined, undefined],
};
for (const [transition, expected] of Object.entries(TABLE) as [TaskTransition, readonly (TaskStatus | undefined)[]][]) {
  for (const [index, status] of TASK_STATUSES.entries()) {
    States(`${status}: ${transition} ${expected[index] ? `leads to ${expected[index]}` : 'is not allowed'}`, () => {
      assert.is(nextTaskStatus(status, transition), expected[index]);
      assert.is(statusesBefore(transition).includes(status), expected[index] !== undefined);
    });
  }
}

States('an ended task stays ended, except for a failed task that is retried', () => {
  assert.equal(TASK_STATUSES.filter(hasEnded), ['completed', 'failed', 'cancelled']);
});

States.run();
