import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as fc from 'fast-check';
import { GuestPromise } from './promise.ts';
import './event-loop.ts'; // has the queue

const Promises = suite('promises of guests');

/** One step of a program that works on a list of promises. Numbers choose among the promises that there are. */
type Step = readonly [kind: (typeof kinds)[number], a: number, b: number, c: number];
const kinds = [
  'pending',
  'resolve',
  'reject',
  'resolve pending',
  'reject pending',
  'resolve pending with',
  'then',
  'then throws',
  'then returns',
  'catch',
  'finally',
  'finally throws',
  'finally returns',
  'thenable',
  'broken thenable',
  'all',
  'allSettled',
  'any',
  'race',
  'subclass',
  'try',
  'executor throws',
  'twice',
] as const;

/** Runs a program with a class of promises. Resolves with the events in their order, some turns after the last one. */
async function eventsOf(steps: readonly Step[], Promise_: PromiseConstructor): Promise<string[]> {
  const events: string[] = [];
  const say = (event: string): void => void events.push(event);
  class Sub<T> extends Promise_<T> {}
  const pending = () => {
    let resolve!: (value: unknown) => void;
    let reject!: (reason: unknown) => void;
    const promise = new Promise_<unknown>((one, other) => {
      resolve = one;
      reject = other;
    });
    return { promise, resolve, reject };
  };
  const start = pending();
  const promises: Promise<unknown>[] = [start.promise];
  const open = [start];
  const show = (value: unknown): string => {
    if (value instanceof AggregateError) return `all ${JSON.stringify(value.errors.map(show))}`;
    return value instanceof Error ? value.name : (JSON.stringify(value) ?? 'undefined');
  };
  for (const [at, [kind, a, b, c]] of steps.entries()) {
    const one = promises[a % promises.length]!;
    const two = promises[b % promises.length]!;
    const three = promises[c % promises.length]!;
    const waiting = open[b % open.length]!;
    const add = (promise: Promise<unknown>): void => void promises.push(promise);
    // oxlint-disable-next-line unicorn/no-thenable -- the test is about them
    const thenable = (then: unknown): PromiseLike<unknown> => ({ then }) as PromiseLike<unknown>;
    switch (kind) {
      case 'pending':
        open.push(pending());
        add(open.at(-1)!.promise);
        break;
      case 'resolve':
        add(Promise_.resolve(a % 2 === 0 ? at : two));
        break;
      case 'reject':
        add(Promise_.reject(at));
        break;
      case 'resolve pending':
        waiting.resolve(at);
        break;
      case 'reject pending':
        waiting.reject(at);
        break;
      case 'resolve pending with':
        waiting.resolve(one);
        break;
      case 'then':
        add(one.then((value) => (say(`${at} ${show(value)}`), at)));
        break;
      case 'then throws':
        add(
          one.then(
            () => {
              throw at;
            },
            () => at,
          ),
        );
        break;
      case 'then returns':
        add(one.then(() => two));
        break;
      case 'catch':
        add(one.catch((reason: unknown) => (say(`${at} caught ${show(reason)}`), c % 2 === 0 ? at : two)));
        break;
      case 'finally':
        add(one.finally(() => say(`${at} finally`)));
        break;
      case 'finally throws':
        add(
          one.finally(() => {
            throw at;
          }),
        );
        break;
      case 'finally returns':
        add(one.finally(() => two));
        break;
      case 'thenable':
        add(
          Promise_.resolve(
            thenable((resolve: (value: unknown) => void, reject: (reason: unknown) => void) => {
              say(`${at} called`);
              if (c % 2 === 0) resolve(two);
              else reject(at);
              resolve(at);
              throw new RangeError('ignored');
            }),
          ),
        );
        break;
      case 'broken thenable':
        add(
          Promise_.resolve(
            // oxlint-disable-next-line unicorn/no-thenable -- the test is about them
            Object.defineProperty({}, 'then', {
              get() {
                throw new RangeError('broken');
              },
            }),
          ),
        );
        break;
      case 'all':
        add(Promise_.all<unknown>(c % 4 === 0 ? [] : [one, at, two, three]));
        break;
      case 'allSettled':
        add(Promise_.allSettled<unknown>(c % 4 === 0 ? [] : [one, at, two, three]));
        break;
      case 'race':
        add(Promise_.race<unknown>(c % 4 === 0 ? [] : [one, at, two, three]));
        break;
      case 'any':
        add(Promise_.any(c % 4 === 0 ? [] : [one, two, Promise_.reject(at)]));
        break;
      case 'subclass':
        add(new Sub((resolve) => resolve(two)).then((value) => (say(`${at} sub ${show(value)}`), three)));
        break;
      case 'try':
        add(
          new Promise_((resolve) => resolve(one)).then(
            () => at,
            () => two,
          ),
        );
        break;
      case 'executor throws':
        add(
          new Promise_((resolve) => {
            if (c % 2 === 0) resolve(two);
            throw at;
          }),
        );
        break;
      case 'twice':
        add(
          new Promise_((resolve, reject) => {
            resolve(c % 2 === 0 ? one : at);
            reject(at);
            resolve(two);
          }),
        );
        break;
    }
  }
  for (const [at, promise] of promises.entries())
    promise.then(
      (value) => say(`end ${at} ${show(value)}`),
      (reason: unknown) => say(`end ${at} rejected ${show(reason)}`),
    );
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  return events;
}

Promises('programs have the same events in the same order as with those of the platform', async () => {
  const step = fc.tuple(fc.constantFrom(...kinds), fc.nat(9), fc.nat(9), fc.nat(9));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const [ours, theirs] = [
        await eventsOf(steps, GuestPromise as unknown as PromiseConstructor),
        await eventsOf(steps, Promise),
      ];
      assert.equal(ours, theirs);
    }),
    { numRuns: 400 },
  );
});

Promises('resolvers and try are those of ES2025', async () => {
  const { promise, resolve } = GuestPromise.withResolvers();
  resolve(1);
  assert.is(await promise, 1);
  assert.is(await GuestPromise.try((a) => a, 2), 2);
  const failed = GuestPromise.try(() => {
    throw new RangeError('no');
  }) as Promise<unknown>;
  assert.is(await failed.catch((error: Error) => error.name), 'RangeError');
});

Promises('it is no JSON value, and its class checks what it is given', () => {
  assert.throws(() => JSON.stringify({ a: [GuestPromise.resolve(1)] }), /"await" is missing/);
  assert.throws(() => new GuestPromise(undefined as never), /needs a function/);
  assert.throws(() => (GuestPromise.resolve as (value: unknown) => unknown).call(undefined, 1), TypeError);
  assert.is(String(GuestPromise.resolve()), '[object Promise]');
});

Promises.run();
