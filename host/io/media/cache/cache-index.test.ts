import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Random } from '../../../test/simulation/random.ts';
import { type CacheEntry, CacheIndex, type CacheLimits } from './cache-index.ts';

const Index = suite('CacheIndex');
const LEAST = 65_536;

/** Does the same as the index, with one list in the order of use. */
class Model {
  readonly #limits: CacheLimits;
  entries: CacheEntry[] = [];

  constructor(limits: CacheLimits) {
    this.#limits = limits;
  }

  put(entry: CacheEntry): void {
    this.remove(entry.user, entry.url);
    this.entries.push(entry);
  }

  remove(user: string, url: string): void {
    this.entries = this.entries.filter((one) => one.user !== user || one.url !== url);
  }

  evict(maxBytes = Infinity): void {
    const isOver = ({ user }: CacheEntry): boolean => this.userBytes(user) > this.#limits.maxUserBytes;
    for (let next = this.entries.find(isOver); next; next = this.entries.find(isOver)) this.remove(next.user, next.url);
    while (this.bytes > Math.max(0, Math.min(maxBytes, this.#limits.maxBytes))) this.entries.shift();
  }

  userBytes(wanted: string): number {
    return this.entries.reduce((sum, { user, bytes }) => sum + (user === wanted ? Math.max(LEAST, bytes) : 0), 0);
  }

  get bytes(): number {
    const files = new Map(this.entries.map(({ sha256, bytes }) => [sha256, Math.max(LEAST, bytes)]));
    return [...files.values()].reduce((sum, bytes) => sum + bytes, 0);
  }
}

Index('holds and removes the same as a list in the order of use', () => {
  for (let seed = 0; seed < 60; seed++) {
    const random = new Random(seed);
    const limits = { maxBytes: random.int(2, 12) * LEAST, maxUserBytes: random.int(2, 8) * LEAST };
    const [index, model] = [new CacheIndex(limits), new Model(limits)];
    const names = (count: number): string => String(random.int(1, count));
    for (let usedAt = 1; usedAt < 200; usedAt++) {
      const [user, url] = [names(4), names(6)];
      const before = [...model.entries];
      const choice = random.int(1, 10);
      if (choice <= 5) {
        const sha256 = names(9);
        const entry = { user, url, sha256, bytes: Number(sha256) * 20_000, usedAt };
        assert.is(index.hasRoomFor(entry.bytes), Math.max(LEAST, entry.bytes) <= Math.min(...Object.values(limits)));
        if (!index.hasRoomFor(entry.bytes)) continue;
        for (const one of [index, model]) one.put(entry);
      } else if (choice <= 8) {
        index.use(user, url, usedAt);
        const used = model.entries.find((one) => one.user === user && one.url === url);
        if (used) model.put({ ...used, usedAt });
      } else if (choice === 9) for (const one of [index, model]) one.remove(user, url);
      const most = choice === 10 ? random.int(-1, 6) * LEAST : undefined;
      const kept = [...model.entries];
      model.evict(most);
      const gone = kept.filter((one) => !model.entries.includes(one));
      const byUse = (all: readonly CacheEntry[]): number[] => all.map((one) => one.usedAt).sort((a, b) => a - b);
      assert.equal(byUse(index.evict(most)), byUse(gone), `seed ${seed}, after ${JSON.stringify(before)}`);
      assert.is(index.bytes, model.bytes);
      assert.ok(index.bytes <= limits.maxBytes);
      for (let file = 1; file <= 9; file++)
        assert.is(
          index.hasFile(String(file)),
          model.entries.some(({ sha256 }) => sha256 === String(file)),
        );
    }
  }
});

Index('removes the entries of very many users in one pass', () => {
  const users = 100_000;
  const index = new CacheIndex({ maxBytes: users * LEAST, maxUserBytes: LEAST });
  for (let n = 0; n < users; n++) index.put({ user: `${n}`, url: '', sha256: `${n}`, bytes: 1, usedAt: n });
  index.use('0', '', users);
  const removed = index.evict(LEAST); // it would take minutes to look for the least recent of all users each time
  assert.is(removed.length, users - 1);
  assert.ok(removed.every(({ user }, n) => user === `${n + 1}`));
  assert.is(index.bytes, LEAST);
});

Index.run();
