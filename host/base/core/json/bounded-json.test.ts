import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { boundedJson } from './bounded-json.ts';

const bounds = { maxDepth: 8, maxElements: 1000, maxChars: 10_000 };

/** Arrays in arrays, as `JSON.parse` makes them of a text whose depth can overflow the stack. */
const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

const Bounded = suite('bounded JSON');

Bounded('equals the result of JSON.stringify for a small value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      assert.is(boundedJson(value, { maxDepth: 20, maxElements: 1e6, maxChars: 1e6 }), JSON.stringify(value));
    }),
  );
  for (const value of [
    undefined,
    { a: undefined, b: () => 1 },
    [undefined],
    new Date(0),
    Number.NaN,
    new Map([[1, 2]]),
    '\ud800',
  ]) {
    assert.is(boundedJson(value, bounds), JSON.stringify(value) ?? 'null');
  }
});

// JSON.stringify throws for it, except in Node 26.
Bounded('survives depth that overflows the stack', () => {
  assert.is(boundedJson({ value: deep(200_000) }, bounds), '{"value":[[[[[[["…"]]]]]]]}');
});

Bounded('cuts long texts and many elements', () => {
  assert.is(boundedJson('x'.repeat(20_000), bounds).length, 10_003);
  assert.is(JSON.parse(boundedJson(Array(5000).fill(1), bounds)).length, 1001);
  assert.equal(Object.keys(JSON.parse(boundedJson({ long: 'x'.repeat(20_000), short: 'y' }, bounds))), ['long', '…']);
});

Bounded('writes values that JSON has no form for', () => {
  const cycle: Record<string, unknown> = { n: 2n ** 70n, error: new Error('why') };
  cycle['self'] = cycle;
  assert.match(boundedJson(cycle, bounds), /^\{"n":"1180591620717411303424","error":"why","self":\{/);
  const hostile = {
    get a(): never {
      throw new Error('no');
    },
  };
  const endless: object = { toJSON: () => endless };
  assert.equal(
    [
      boundedJson(hostile, bounds),
      boundedJson(
        new Proxy(
          {},
          {
            has: () => {
              throw new Error('no');
            },
          },
        ),
        bounds,
      ),
    ],
    ['"…"', '"…"'],
  );
  assert.is(boundedJson(endless, bounds), '{}');
});

Bounded.run();
