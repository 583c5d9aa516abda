// Which components are accepted by their types, with real components.
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from '@bytecodealliance/jco-transpile/wasm-tools';
import { packageRoot } from '../../../base/core/package-root.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { olderCapabilities } from '../fixtures/older/guest.ts';
import { describeComponent } from './compiled-code.ts';
import { typeProblem } from './component-types.ts';
import { offered, sandbox, withBytes, withWat } from './fixtures/serve-component.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { buildTestPlugin } from '../fixtures/build-test-plugin.ts';

const Types = suite('the types of components');

const problemOfFile = async (component: string): Promise<string | undefined> =>
  typeProblem(await describeComponent({ sandbox, plugin: 'test', component }), offered);
/** Returns the problem of a component in the text format. */
const problemOf = async (wat: string): Promise<string | undefined> => withBytes(await parse(wat), problemOfFile);
/** Returns why a component in the text format cannot be compiled. */
const refusalOf = async (wat: string): Promise<string> =>
  withBytes(
    await parse(wat),
    async (file) => (await errorOf(describeComponent({ sandbox, plugin: 'test', component: file }))).message,
  );

Types('components of the TypeScript toolchain and of an older world are accepted', async () => {
  const { component } = await buildTestPlugin(join(packageRoot, 'plugins', 'video-transcribe'));
  assert.is(await problemOfFile(component), undefined);
  const dir = await mkdtemp(join(tmpdir(), 'aana-older-'));
  assert.is(await problemOfFile(await olderCapabilities.build(dir)), undefined);
  await rm(dir, { recursive: true, force: true });
  assert.is(await withWat({ go: '(i32.const 7)' }, problemOfFile), undefined);
});

Types('an import that the host does not offer is named', async () => {
  assert.is(
    await problemOf('(component (import "acme:db/sql@1.0.0" (instance (export "query" (func (param "q" string))))))'),
    'it imports acme:db/sql@1.0.0, which the host does not offer',
  );
  assert.is(
    await problemOf('(component (import "aana:host/random@0.9.0" (instance)))'),
    'it imports aana:host/random@0.9.0, which the host does not offer: it offers aana:host/random@0.1.0',
  );
  assert.is(
    await problemOf('(component (import "aana:hooks/grow" (instance (export "grow" (func)))))'),
    'it imports aana:hooks/grow, which the host does not offer',
  );
});

Types('a function that an interface lacks is named', async () => {
  assert.is(
    await problemOf('(component (import "wasi:filesystem/types@0.2.3" (instance (export "format-disk" (func)))))'),
    'it imports wasi:filesystem/types@0.2.3 format-disk, which the host does not have',
  );
  assert.is(
    await problemOf('(component (import "aana:host/log@0.1.0" (instance (export "constructor" (func)))))'),
    'it imports aana:host/log@0.1.0 constructor, which the host does not have',
  );
});

Types('a function of another type is named with the difference', async () => {
  assert.is(
    await problemOf(
      `(component (import "aana:host/random@0.1.0" (instance
        (export "bytes" (func (param "length" u64) (result (list u8)))))))`,
    ),
    'it imports aana:host/random@0.1.0 bytes with the type "func(length: u64) -> list<u8>", and the host has ' +
      '"func(length: u32) -> list<u8>"',
  );
});

Types('an import that is no interface is refused', async () => {
  for (const [wat, what] of [
    ['(component (import "f" (func)))', 'it imports f, which is a function, and not an interface'],
    ['(component (import "m" (core module)))', 'it imports m, which is a core module, and not an interface'],
  ] as const)
    assert.is(await problemOf(wat), what);
});

Types('an endpoint that is missing or has another type is refused', async () => {
  assert.is(await problemOf('(component)'), 'it does not export aana:host/endpoint@0.1.0');
  const problem = await problemOf(`(component
    (core module $m (func (export "f") (result i32) (i32.const 1)))
    (core instance $i (instantiate $m))
    (func $f (result u32) (canon lift (core func $i "f")))
    (instance $e (export "describe" (func $f)) (export "run" (func $f)))
    (export "aana:host/endpoint@0.1.0" (instance $e)))`);
  assert.match(
    problem ?? '',
    /^it exports aana:host\/endpoint@0\.1\.0 describe with the type "func\(\) -> u32", and the host/,
  );
});

Types('futures, streams and asynchronous functions are refused', async () => {
  assert.match(
    await refusalOf(
      '(component (import "aana:host/random@0.1.0" (instance (export "bytes" (func (param "length" (future u8)))))))',
    ),
    /cannot be used: it cannot be compiled: .*async/,
  );
  assert.match(
    await refusalOf('(component (type $s (stream u8)) (core func (canon stream.new $s)))'),
    /cannot be used: it cannot be compiled: .*async/,
  );
});

Types('shared memories, too many imports and too large types are refused', async () => {
  assert.match(
    await refusalOf('(component (core module (memory 1 2 shared)))'),
    /cannot be used: it cannot be compiled: .*(threads|shared)/,
  );
  const importing = (count: number): string =>
    `(component ${Array.from({ length: count }, (_, n) => `(import "acme:db/i${n}" (instance))`).join('')})`;
  assert.match(await refusalOf(importing(2_000)), /cannot be used: it has 2000 imports, 1000 are allowed/);
  assert.match(await refusalOf(importing(10_000)), /cannot be used: it cannot be compiled: .*instances count exceeds/);
  const doubled = Array.from({ length: 16 }, (_, n) => `(type $t${n + 1} (tuple $t${n} $t${n}))`).join(' ');
  const large = await refusalOf(
    `(component (type $t0 (tuple u8 u8)) ${doubled}
      (import "acme:db/i" (instance (alias outer 1 $t16 (type $t)) (export "f" (func (param "a" $t))))))`,
  );
  assert.match(large, /cannot be used: acme:db\/i f cannot be used: its types have too many parts/);
});

Types.run();
