import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { jsonShape } from './json-shape.ts';

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** Values inside of objects and arrays; an empty one counts as one. */
function elementsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value);
  return Math.max(1, inner.length) + inner.reduce<number>((sum, each) => sum + elementsOf(each), 0);
}

function numbersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value);
  const own = Array.isArray(value) ? value.filter((each) => typeof each === 'number').length : 0;
  return own + inner.reduce<number>((sum, each) => sum + numbersOf(each), 0);
}

/** Characters of the texts under the key `a`, as JSON. */
function largeOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce((sum, [key, each]) => {
    const isLarge = !Array.isArray(value) && key === 'a' && typeof each === 'string';
    return sum + (isLarge ? JSON.stringify(each).length - 2 : largeOf(each));
  }, 0);
}

const Shape = suite('the shape of a JSON text');

Shape('has the depth and the elements of its value', () => {
  const text = fc.constantFrom('', 'a', '"', '\\', '\\"', '[', '{"a":[', ']', ',', 'é', '\\\\"', ':');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(null, 1, -0.5, true),
      text,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(text, tie('value'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(value, fc.constantFrom(0, 2), (json, indent) => {
      assert.equal(jsonShape(JSON.stringify(json, null, indent), new Set(['a'])), {
        depth: depthOf(json),
        elements: elementsOf(json),
        numbers: numbersOf(json),
        largeChars: largeOf(json),
      });
    }),
    { numRuns: 1000 },
  );
});

Shape('is also computed for a text that is not JSON', () => {
  for (const text of ['"', '"\\', '"\\"', '[[', ']]', '{"a', '\\"[']) assert.ok(jsonShape(text).depth <= 2);
  assert.is(jsonShape('['.repeat(1e6)).depth, 1e6);
  assert.is(jsonShape(`"${'\\'.repeat(1e6)}"`).depth, 0);
});

Shape('is counted until there are too many characters besides large texts', () => {
  const text = `[{"data":"${'a'.repeat(100)}"},${'0,'.repeat(1000)}0]`;
  const { numbers, largeChars } = jsonShape(text, new Set(['data']), { chars: 50 });
  assert.is(largeChars, 100);
  assert.ok(numbers > 10 && numbers < 30, `${numbers} numbers`);
});

Shape.run();
