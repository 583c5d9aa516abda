import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../../base/core/errors.ts';
import { OutcomeHealth } from './outcomes.ts';

const Outcomes = suite('health by the outcomes of calls');

const failed = new AanaError('InferenceException', 'internal', 'CUDA error 700');
const mistake = new AanaError('PromptTooLongException', 'bad-request', 'too long');
const secret = new AanaError('TypeError', 'internal', 'the prompt was: my secret', { unexpected: true });
const times = <T>(count: number, outcome: T): T[] => Array.from({ length: count }, () => outcome);

const CASES: readonly (readonly [
  what: string,
  outcomes: readonly (Error | undefined)[],
  reason: string | undefined,
])[] = [
  ['no call at all', [], undefined],
  ['calls that succeed', times(9, undefined), ''],
  ['exactly half', [...times(3, failed), ...times(3, undefined)], ''],
  [
    'more than half',
    [...times(4, failed), ...times(3, undefined)],
    '4 of its last 7 calls failed by its own fault: CUDA error 700',
  ],
  ['too few calls', times(4, failed), undefined],
  ['mistakes of callers', times(50, mistake), undefined],
  [
    'mistakes of callers among failures',
    [...times(50, mistake), ...times(5, failed)],
    '5 of its last 5 calls failed by its own fault: CUDA error 700',
  ],
  ['calls that were cancelled', times(50, new AanaError('CancelledError', 'cancelled', '')), undefined],
  [
    'calls that lost it',
    times(50, new AanaError('ReplicaLostError', 'unavailable', '', { fault: 'replica-lost' })),
    undefined,
  ],
  [
    'an engine’s refusal of the caller’s request',
    times(50, new AanaError('InferenceException', 'internal', 'the prompt is empty', { fault: 'caller' })),
    undefined,
  ],
  [
    'unexpected errors, without their message',
    times(5, secret),
    '5 of its last 5 calls failed by its own fault: TypeError',
  ],
];
for (const [what, outcomes, reason] of CASES) {
  Outcomes(`${reason ? 'finds a replica unhealthy by' : 'finds nothing wrong in'} ${what}`, () => {
    const health = new OutcomeHealth();
    for (const outcome of outcomes) health.record(outcome);
    assert.equal(health.check(), reason === undefined ? undefined : { isHealthy: reason === '', reason });
  });
}

Outcomes('keeps too few calls for the next checks, and resets after a judgement', () => {
  const health = new OutcomeHealth();
  for (let call = 1; call <= 4; call += 1) {
    health.record(failed);
    assert.is(health.check(), undefined);
  }
  health.record(failed);
  assert.is(health.check()?.isHealthy, false);
  for (const _ of times(4, failed)) health.record(failed);
  assert.is(health.check(), undefined);
});

Outcomes('forgets a few calls after many checks', () => {
  const health = new OutcomeHealth();
  for (const _ of times(4, failed)) health.record(failed);
  for (const _ of times(30, 0)) assert.is(health.check(), undefined);
  health.record(failed);
  assert.is(health.check(), undefined);
});

Outcomes.run();
