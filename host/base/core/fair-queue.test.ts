import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { FairQueue } from './fair-queue.ts';

const Queue = suite('the fair queue');

interface Entry {
  readonly name: string;
  readonly userId: string | null;
  readonly priority: number;
  readonly cost: number;
}
const entry = (name: string, userId: string | null = null, { priority = 0, cost = 1 } = {}): Entry => ({
  name,
  userId,
  priority,
  cost,
});
const filled = (...entries: Entry[]): FairQueue<Entry> => {
  const queue = new FairQueue<Entry>();
  for (const one of entries) queue.add(one);
  return queue;
};
function drained(queue: FairQueue<Entry>): string[] {
  const names: string[] = [];
  for (let next = queue.take(); next; next = queue.take()) names.push(next.name);
  return names;
}

Queue('returns the entries of one user in the order of their arrival', () => {
  assert.equal(drained(filled(entry('a'), entry('b'), entry('c'))), ['a', 'b', 'c']);
});

Queue('lets users take turns, however many entries one has', () => {
  const many = Array.from({ length: 100 }, (_, n) => entry(`m${n}`, 'many'));
  assert.equal(drained(filled(...many, entry('x', 'other'), entry('y', 'other'))).slice(0, 5), [
    'm0',
    'x',
    'm1',
    'y',
    'm2',
  ]);
});

Queue('counts the work of an entry that is taken before its turn', () => {
  const before = entry('b2', 'b', { cost: 2 });
  const queue = filled(
    entry('a1', 'a'),
    entry('a2', 'a'),
    entry('b1', 'b'),
    before,
    entry('b3', 'b'),
    entry('a3', 'a'),
  );
  assert.is(queue.take(2, before), before);
  queue.add(entry('c1', 'c'));
  assert.equal(drained(queue), ['a1', 'c1', 'a2', 'a3', 'b1', 'b3']);
});

Queue('divides the work by the weights of the users', () => {
  const of = (user: string, weight: number): (Entry & { weight: number })[] =>
    Array.from({ length: 12 }, (_, n) => ({ ...entry(`${user}${n}`, user, { cost: 2 }), weight }));
  const first = drained(filled(...of('a', 1), ...of('b', 3))).slice(0, 12);
  assert.is(first.filter((name) => name.startsWith('b')).length, 9);
  const queue = filled(...of('a', 1), ...of('b', 3));
  assert.is(queue.workAhead({ userId: 'c', priority: 0, cost: 2 }), 2 + 6);
  assert.is(queue.workAhead({ userId: 'c', priority: 0, cost: 2, weight: 2 }), 1 + 3);
});

Queue(
  'puts a returned entry before later ones and behind ones of a higher priority, and does not count it as work',
  () => {
    const queue = filled(entry('a', 'u'), entry('b', 'u'), entry('x', 'v'), entry('y', 'v'));
    const taken = queue.take()!;
    queue.add(entry('urgent', 'u', { priority: 9 }));
    queue.giveBack(taken);
    assert.is(queue.size, 5);
    assert.equal(drained(queue), ['urgent', 'x', 'a', 'y', 'b']);
  },
);

Queue('takes back an entry whose user has no other entry', () => {
  const queue = filled(entry('a', 'u'));
  queue.giveBack(queue.take()!);
  assert.equal([queue.size, ...drained(queue)], [1, 'a']);
});

Queue('counts work, not entries', () => {
  const queue = filled(
    entry('long 1', 'long', { cost: 10 }),
    entry('long 2', 'long', { cost: 10 }),
    ...[1, 2, 3, 4].map((n) => entry(`short ${n}`, 'short', { cost: 2 })),
  );
  assert.equal(drained(queue), ['long 1', 'short 1', 'short 2', 'short 3', 'short 4', 'long 2']);
});

Queue('applies priorities only among the entries of one user', () => {
  const queue = filled(entry('a', 'u'), entry('urgent', 'u', { priority: 9 }), entry('b', 'v', { priority: -5 }));
  assert.equal(drained(queue), ['urgent', 'b', 'a']);
});

Queue('gives a user no advantage for having been away', () => {
  const queue = filled(...[1, 2, 3, 4].map((n) => entry(`a${n}`, 'a')));
  for (let n = 0; n < 3; n += 1) queue.take();
  for (const n of [1, 2, 3]) queue.add(entry(`b${n}`, 'b'));
  assert.equal(drained(queue).slice(0, 2).toSorted(), ['a4', 'b1']);
});

Queue('gives a user no advantage for leaving and returning', () => {
  const queue = filled(entry('a1', 'a', { cost: 100 }), entry('b1', 'b'), entry('b2', 'b'));
  assert.is(queue.take()?.name, 'a1');
  queue.add(entry('a2', 'a'));
  assert.equal(drained(queue), ['b1', 'b2', 'a2']);
});

Queue('makes room with the last entry of the user with the most entries', () => {
  const queue = filled(entry('a1', 'a'), entry('a2', 'a'), entry('a3', 'a'), entry('b1', 'b'));
  assert.is(queue.victimFor('c')?.name, 'a3');
  assert.is(queue.victimFor('a'), undefined);
  assert.is(filled(entry('a1', 'a'), entry('b1', 'b')).victimFor('a'), undefined);
});

Queue('returns the work that is done before a new entry', () => {
  const queue = filled(
    ...Array.from({ length: 10 }, (_, n) => entry(`a${n}`, 'a', { cost: 5 })),
    entry('b', 'b', { cost: 5 }),
  );
  assert.is(queue.workAhead(entry('new', 'b', { cost: 5 })), 15, 'its own and as much of the other');
  assert.is(queue.workAhead(entry('new', 'a', { cost: 5 })), 55);
  assert.is(queue.workAhead(entry('new', 'a', { cost: 5, priority: 1 })), 5);
});

Queue('removes entries', () => {
  const [a, b] = [entry('a'), entry('b')];
  const queue = filled(a, b);
  assert.equal([queue.remove(a), queue.remove(a), queue.size], [true, false, 1]);
  assert.equal(drained(queue), ['b']);
});

Queue.run();
