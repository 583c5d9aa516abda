import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../base/config/index.ts';
import type { BoundDeployment } from '../../inference/deployments/index.ts';
import { RelayDeployment } from '../../inference/deployments/fixtures/relay-deployment.ts';
import { SentimentDeployment } from '../../inference/deployments/fixtures/sentiment-deployment.ts';
import { planChanges } from './plan.ts';

const Plan = suite('the plan of a new configuration');

Plan('refuses to remove a deployment that endpoints declare, or other deployments call', () => {
  const whisper = { type: 'WhisperDeployment' };
  const [now, next] = [{ called: whisper, free: whisper }, {}].map((deployments) =>
    loadConfig({ cwd: '/', env: {}, content: JSON.stringify({ deployments }) }),
  );
  const { plan, changes } = planChanges({
    ...{ now: now!, next: next!, wanted: new Map(), liveSections: [] },
    endpoints: [{ name: 'judge', deployments: ['called'] }],
    registered: new Map<string, BoundDeployment>([
      ['called', SentimentDeployment.options()],
      ['free', SentimentDeployment.options()],
      ['relay', RelayDeployment.options({ handles: { next: 'called' } })],
    ]),
  });
  const reason = 'it cannot be removed, because judge declares it, and relay calls it';
  assert.equal(plan.refused, [{ key: 'deployments.called', reason }]);
  assert.equal(
    changes.map(({ kind, name }) => [kind, name]),
    [['remove', 'free']],
  );
});

Plan.run();
