import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Coalesced } from './coalesced.ts';

const Changes = suite('changes for a reader who may be slow');

Changes('come together, and never before something has changed', async () => {
  let [count, made] = [0, 0];
  const changes = new Coalesced(() => {
    made += 1;
    return count;
  });
  const first = changes.next();
  for (; count < 5; count += 1) changes.touch();
  assert.equal(await first, { value: 5, done: false });
  for (; count < 9; count += 1) changes.touch();
  assert.equal(await changes.next(), { value: 9, done: false }, 'those that came while nobody was waiting');
  assert.is(made, 2);
});

Changes('are left out when nothing has changed after all', async () => {
  let value: number | undefined;
  const changes = new Coalesced(() => value);
  const next = changes.next();
  changes.touch();
  await new Promise(setImmediate);
  value = 7;
  changes.touch();
  assert.equal(await next, { value: 7, done: false });
});

for (const how of ['end', 'return'] as const) {
  Changes(`end with ${how}, also for a reader who waits`, async () => {
    const changes = new Coalesced(() => 1);
    const next = changes.next();
    await changes[how]();
    assert.equal(await next, { value: undefined, done: true });
    changes.touch();
    assert.equal(await changes.next(), { value: undefined, done: true });
  });
}

Changes.run();
