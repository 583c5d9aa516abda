import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../core/errors.ts';
import { InferenceErrors } from './inference-errors.ts';

const Errors = suite('counting inference errors');

const failed = new AanaError('InferenceException', 'internal', 'CUDA error 700');
const CASES: readonly (readonly [what: string, outcomes: readonly (Error | undefined)[], reason: string | undefined])[] = [
  ['no call at all', [], undefined],
  ['calls that succeed', [undefined, undefined], undefined],
  ['exactly half', [failed, undefined], undefined],
  ['more than half', [failed, undefined, failed], '2 of its last 3 calls failed in the engine: CUDA error 700'],
  ['the only call', [failed], '1 of its last 1 calls failed in the engine: CUDA error 700'],
  ['errors of callers', [new AanaError('PromptTooLongException', 'bad-request', ''), new TypeError('x')], undefined],
];
for (const [what, outcomes, reason] of CASES) {
  Errors(`${reason ? 'finds a replica unhealthy by' : 'finds nothing wrong in'} ${what}`, () => {
    const errors = new InferenceErrors();
    for (const outcome of outcomes) errors.record(outcome);
    assert.is(errors.check(), reason);
  });
}

Errors('counts anew after each check', () => {
  const errors = new InferenceErrors();
  errors.record(failed);
  errors.check();
  assert.is(errors.check(), undefined);
  errors.record();
  assert.is(errors.check(), undefined);
});

Errors.run();
