import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { preferred } from './affinity.ts';

const Affinity = suite('affinity');

const members = (...ongoing: number[]): { name: string; ongoing: number }[] =>
  ongoing.map((count, index) => ({ name: `llm#${index + 1}`, ongoing: count }));
const KEYS = Array.from({ length: 1000 }, (_, n) => `You are assistant number ${n}`);

Affinity('chooses the same replica for a key, independent of the order of the replicas', () => {
  const four = members(0, 0, 0, 0);
  for (const key of KEYS) assert.is(preferred(key, four, 8)?.name, preferred(key, four.toReversed(), 8)?.name);
});

Affinity('spreads keys evenly', () => {
  const counts = new Map<string | undefined, number>();
  for (const key of KEYS) {
    const name = preferred(key, members(0, 0, 0, 0), 8)?.name;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  assert.is(counts.size, 4);
  for (const count of counts.values()) assert.ok(count > 200 && count < 300, `${count} of 1000`);
});

Affinity('moves only the keys of a replica that is removed', () => {
  const [four, three] = [members(0, 0, 0, 0), members(0, 0, 0)];
  for (const key of KEYS) {
    const before = preferred(key, four, 8)?.name;
    if (before !== 'llm#4') assert.is(preferred(key, three, 8)?.name, before);
  }
});

Affinity('chooses another replica when the preferred one is over a quarter busier than the average', () => {
  const [key = ''] = KEYS;
  const two = members(0, 0);
  const liked = preferred(key, two, 100);
  const other = two.find((member) => member !== liked);
  if (!liked || !other) return assert.unreachable();
  other.ongoing = 7;
  liked.ongoing = 9; // the bound is 1.25 · 17 / 2, rounded up
  assert.is(preferred(key, two, 100), liked);
  liked.ongoing = 14;
  assert.is(preferred(key, two, 100), other);
});

Affinity('chooses no replica when all are full', () => {
  assert.is(preferred('a', members(2, 2), 2), undefined);
  assert.is(preferred('a', members(2, 1), 2)?.name, 'llm#2');
});

Affinity.run();
