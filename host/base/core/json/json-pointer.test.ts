import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pointerKeys, valueAt } from './json-pointer.ts';

const Pointer = suite('JSON pointers');
const document = { a: [{ 'x/y': 1, 'm~n': 2, 'ä b': 3, '%': 4 }], '': 5 };

const CASES: readonly (readonly [reference: string, value: unknown])[] = [
  ['#', document],
  ['#/', 5],
  ['#/a/0/x~1y', 1],
  ['#/a/0/m~0n', 2],
  ['#/a/0/%C3%A4%20b', 3],
  ['#/a/0/%', 4],
  ['#/a/1', undefined],
  ['#/constructor', undefined],
  ['#/a/0/x~1y/z', undefined],
  ['other.json#/a', undefined],
];
for (const [reference, value] of CASES)
  Pointer(`${reference} leads to ${JSON.stringify(value)}`, () => assert.equal(valueAt(document, reference), value));

Pointer('have keys in their order, and no keys in other documents', () => {
  assert.equal(pointerKeys('#/$defs/~01'), ['$defs', '~1']);
  assert.is(pointerKeys('Error'), undefined);
});

Pointer.run();
