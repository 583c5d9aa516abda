import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readWorld } from './read-world.ts';

const ReadWorld = suite('reading a WIT file');

const parts = `
package a:b@0.1.0;
// not a sentence of the documentation
interface things {
  use types.{error, row-id};
  /// A pair.
  record pair { left: option<string>, right: list<tuple<u8, f64>> }
  enum side { left, right }
  variant either { one(list<u8>), none }
  type count = f64;
  /// Held.
  resource box {
    open: static func(name: string) -> result<box, error>;
    /// Its side.
    side: func() -> side;
  }
  resource empty;
  %list: func(of: borrow<box>) -> result<_, error>;
}
world plugin { import things; export other; }
`;

ReadWorld('gives definitions, functions of resources and of the interface, and documentation', () => {
  const [things, ...others] = readWorld(parts);
  assert.is(others.length, 0);
  assert.equal(things?.uses, [['types', ['error', 'row-id']]]);
  assert.equal(
    things?.definitions.map(({ kind, name, docs }) => [kind, name, docs]),
    [
      ['record', 'pair', ['A pair.']],
      ['enum', 'side', []],
      ['variant', 'either', []],
      ['alias', 'count', []],
      ['resource', 'box', ['Held.']],
      ['resource', 'empty', []],
    ],
  );
  assert.equal(
    things?.functions.map(({ name, resource, isStatic, canFail, value, docs }) => [
      ...[name, resource, isStatic, canFail, value?.name, docs],
    ]),
    [
      ['open', 'box', true, true, 'box', []],
      ['side', 'box', false, false, 'side', ['Its side.']],
      ['list', undefined, false, true, undefined, []],
    ],
  );
});

for (const [what, text] of Object.entries({
  'a kind of type that it does not know': 'interface a { flags f { one } }',
  'a type without its end': 'interface a { record r { x: list<u8 } }',
  'a part of a file that it does not know': 'include a;',
}))
  ReadWorld(`refuses ${what}`, () => {
    assert.throws(() => readWorld(text), /WIT file/);
  });

ReadWorld.run();
