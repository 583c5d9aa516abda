// The short form of `npm run campaign:replicas`: real processes die, change and end under load.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { launcherPath } from '../../base/processes/index.ts';
import { skip } from '../skip.ts';
import { type Fault, FAULTS, strike } from './faults.ts';
import { longCalls, poisonousCalls, refusedRestarts } from './hard-calls.ts';
import { endHost, ENDS, MOMENTS } from './host-ends.ts';
import type { LoadResult } from './load.ts';
import { updateUnderLoad } from './updates.ts';

const Campaign = suite('replicas under load');

function assertUnharmed({ answered, cut, failed }: LoadResult): void {
  assert.equal([[...failed], cut], [[], 0]);
  assert.ok(answered > 0);
}

for (const fault of Object.keys(FAULTS) as Fault[]) {
  const title = `${fault} of a replica fails no call of its deployment or of another one`;
  if (fault === 'out of memory' && !launcherPath()) {
    skip(title, 'the launcher, which limits memory, is not built');
    continue;
  }
  Campaign(title, async () => {
    const { struck, bystander, replaced } = await strike(fault, 1);
    assertUnharmed(bystander);
    assert.equal([...struck.failed], []);
    assert.ok(struck.answered > 0 && replaced >= 1);
  });
}

Campaign('good and bad updates fail no call', async () => {
  const { load, updated, rolledBack, wrong, processes } = await updateUnderLoad(2);
  assertUnharmed(load);
  assert.equal({ updated, rolledBack, wrong, processes }, { updated: 2, rolledBack: 2, wrong: [], processes: 2 });
});

Campaign('calls longer than the grace period survive updates and scaling', async () => {
  const { load, wrong } = await longCalls(1);
  assertUnharmed(load);
  assert.equal(wrong, []);
});

Campaign('a restart that is refused for a while fails no call', async () => {
  const { load, wrong } = await refusedRestarts(1);
  assert.equal([[...load.failed], wrong], [[], []]);
});

Campaign('a poisonous call ends two replicas, and fails no call that was on one of them only', async () => {
  const { load, wrong } = await poisonousCalls(2);
  assert.equal([[...load.failed], wrong], [[], []]);
});

for (const moment of MOMENTS) {
  for (const end of ENDS) {
    Campaign(`no replica outlives a host that ends by ${end} ${moment}`, async () => {
      assert.is(await endHost(moment, end), moment === 'at rest' ? 2 : 3);
    });
  }
}

Campaign.run();
