import { parse } from '@bytecodealliance/jco-transpile/wasm-tools';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkComponent } from './component-binary.ts';

const Binary = suite('the binary of a component');

const nameChars = 24;
const hostile = [
  ...["a':0,z'", '";z', '`z', 'a${z}', 'a\\', 'a\nz', 'a\rz', 'a*/z', 'a\u2028z', 'a\0z', 'a z', 'é', '__proto__ '],
  ...['(z)', '{z}', '<z>', 'a,z', 'a;z', 'a=z'],
];

/** A component with a name of its own at each place where a component has names. It need not be valid otherwise. */
function manyNames(): { readonly text: string; readonly names: readonly string[] } {
  const names: string[] = [];
  const name = (): string => {
    names.push(`name${String(names.length).padStart(3, '0')}`.padEnd(nameChars, 'x'));
    return `"${names.at(-1)}"`;
  };
  const module = (): string => `(core module
    (import ${name()} ${name()} (func)) (import ${name()} ${name()} (memory 1)) (import ${name()} ${name()} (table 1 funcref))
    (import ${name()} ${name()} (global i32)) (import ${name()} ${name()} (tag))
    (export ${name()} (func 0)) (export ${name()} (memory 0)) (export ${name()} (table 0)) (export ${name()} (global 0)) (export ${name()} (tag 0)))`;
  const types = (): string => `
    (type (record (field ${name()} string) (field ${name()} u8)))
    (type (variant (case ${name()} string) (case ${name()})))
    (type (enum ${name()} ${name()}))
    (type (flags ${name()}))
    (type (func (param ${name()} string) (param ${name()} (list u8)) (result (option (tuple u8 string)))))
    (type (resource (rep i32)))
    (type (instance
      (type (record (field ${name()} string)))
      (type (result string (error u8)))
      (export ${name()} (type (eq 0))) (export ${name()} (type (sub resource)))
      (type (func (param ${name()} (own 2)) (result (borrow 2))))
      (export ${name()} (func (type 3)))
      (alias outer 1 0 (type)) (export ${name()} (instance (type 0)))))
    (type (component
      (import ${name()} (func)) (export ${name()} (func (param ${name()} bool)))
      (type (enum ${name()}))))`;
  const inside = (inner: string): string => `
    (import ${name()} (func))
    (import ${name()} (instance (export ${name()} (func)) (type (enum ${name()}))))
    (import ${name()} (type (sub resource)))
    ${types()}
    ${module()}
    ${inner}
    (core instance (instantiate 0 (with ${name()} (instance 0))))
    (alias core export 0 ${name()} (core func))
    (alias core export 0 ${name()} (core memory))
    (alias core export 0 ${name()} (core table))
    (alias core export 0 ${name()} (core global))
    (core func (canon lower (func 0)))
    (core func (canon resource.drop 0))
    (core instance (export ${name()} (func 0)) (export ${name()} (memory 0)) (export ${name()} (table 0)) (export ${name()} (global 0)))
    (alias export 0 ${name()} (func))
    (alias export 0 ${name()} (type))
    (func (type 0) (canon lift (core func 0) (memory 0) (realloc 0) string-encoding=utf16))
    (instance (export ${name()} (func 0)) (export ${name()} (type 0)))
    (export ${name()} (func 0)) (export ${name()} (instance 0)) (export ${name()} (type 0))`;
  const instantiate = (): string => `(instance (instantiate 0 (with ${name()} (func 0)) (with ${name()} (type 0))))`;
  const text =
    `(component ${inside(`(component ${inside(`(component ${inside('')})`)} ${instantiate()})`)} ` +
    `${instantiate()})`;
  return { text, names };
}

/** Returns the component with other bytes in place of a name. */
function renamed(component: Uint8Array, name: string, other: Uint8Array): Uint8Array {
  const changed = Buffer.from(component);
  const at = changed.indexOf(name);
  assert.ok(at > 0, name);
  assert.is(changed.indexOf(name, at + 1), -1, `${name} is there once`);
  changed.set(other, at);
  return changed;
}

Binary('a name that is not one of WIT or of a compiler is refused at each place, at any depth', async () => {
  const { text, names } = manyNames();
  const component = new Uint8Array(await parse(text));
  checkComponent(component);
  assert.ok(names.length > 150, `${names.length} names`);
  for (const [n, name] of names.entries())
    for (const part of [hostile[n % hostile.length]!, hostile[(n + 7) % hostile.length]!]) {
      const bytes = Buffer.alloc(nameChars, 'b');
      bytes.write(part);
      assert.throws(
        () => checkComponent(renamed(component, name, bytes)),
        /^the name ".*" \(.+\) is not one that (WIT|a compiler) makes$/,
        `${name} as ${part}`,
      );
    }
});

Binary('a name that is not UTF-8 is refused', async () => {
  const { text, names } = manyNames();
  const component = new Uint8Array(await parse(text));
  const bytes = new Uint8Array(nameChars).fill(0xc3);
  for (const name of names) assert.throws(() => checkComponent(renamed(component, name, bytes)), /is not UTF-8/);
});

Binary('a component that ends early, or goes on after its end, is refused', async () => {
  const component = new Uint8Array(
    await parse('(component (type (enum "a" "b")) (import "f" (func)) (export "g" (func 0)))'),
  );
  checkComponent(component);
  for (let length = 9; length < component.length; length++) {
    const sizes = [...sectionEnds(component)];
    if (!sizes.includes(length))
      assert.throws(() => checkComponent(component.subarray(0, length)), /./, `${length} bytes`);
  }
  // A section of no types with two more bytes.
  const longer = Uint8Array.from([...component.subarray(0, 8), 7, 3, 0, 0, 0]);
  assert.throws(() => checkComponent(longer), /section 7 has bytes after its end/);
});

function* sectionEnds(component: Uint8Array): Generator<number> {
  for (let at = 8; at < component.length; at += 2 + component[at + 1]!) yield at + 2 + component[at + 1]!;
}

const refused: readonly { readonly what: string; readonly text: string; readonly reason: RegExp }[] = [
  { what: 'streams', text: '(component (type (stream u8)))', reason: /a type of the component has an unknown form/ },
  { what: 'futures', text: '(component (type (future)))', reason: /a type of the component has an unknown form/ },
  {
    what: 'functions for asynchronous code',
    text: '(component (core func (canon task.cancel)))',
    reason: /a function of the component has an unknown form/,
  },
  {
    what: 'a component from outside',
    text: '(component (import "a" (component)))',
    reason: /an import or export of the component has an unknown form/,
  },
  {
    what: 'a component that is passed on',
    text: '(component (component) (export "a" (component 0)))',
    reason: /the component passes a component on/,
  },
  {
    what: 'components that each make two of the next one',
    text: `(component ${Array.from({ length: 12 }).reduce<string>(
      (inner) => `(component ${inner} (instance (instantiate 0)) (instance (instantiate 0)))`,
      '(component)',
    )} (instance (instantiate 0)))`,
    reason: /it makes \d+ instances of modules and components, a plugin has at most 1000/,
  },
  {
    what: 'a memory of 64 bits in the import of a module',
    text: '(component (core module (import "a" "b" (memory i64 1))))',
    reason: /of a kind that is not supported/,
  },
];
for (const { what, text, reason } of refused)
  Binary(`${what}: refused`, async () => {
    const component = new Uint8Array(await parse(text));
    assert.throws(() => checkComponent(component), reason);
  });

Binary('imports and exports are those of the component, not of components in it', async () => {
  const text =
    '(component (import "aana:host/types@0.1.0" (instance)) (component (import "a" (func)) (export "b" (func 0))) ' +
    '(import "f" (func)) (export "g" (func 0)))';
  assert.equal(checkComponent(new Uint8Array(await parse(text))), {
    imports: ['aana:host/types@0.1.0', 'f'],
    exports: ['g'],
  });
});

Binary.run();
