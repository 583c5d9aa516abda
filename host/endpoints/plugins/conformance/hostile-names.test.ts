import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaError } from '../../../base/core/errors.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { type ComponentParts, watPlugin } from '../fixtures/wat-plugin.ts';
import { PluginHost } from '../set/plugin-host.ts';

const Hostile = suite<{ dir: string; host: PluginHost }>('components with hostile names');

Hostile.before.each(async (context) => {
  context.dir = await mkdtemp(join(tmpdir(), 'aana-names-'));
  context.host = new PluginHost({
    sandbox: testSandbox,
    ports: new FakePorts(),
    cacheDir: join(context.dir, 'cache'),
    log: silentLogger,
  });
});
Hostile.after.each(async ({ dir, host }) => {
  await host.close();
  await rm(dir, { recursive: true, force: true });
});

/** A provider of everything that a module can export, by the names `f`, `m`, `t` and `g`. */
const provider = `(core module $from (func (export "f")) (memory (export "m") 1)
  (table (export "t") 1 funcref) (global (export "g") i32 (i32.const 0)))
  (core instance $p (instantiate $from))
  (alias core export $p "f" (core func $f)) (alias core export $p "m" (core memory $m))
  (alias core export $p "t" (core table $t)) (alias core export $p "g" (core global $g))`;

/** A second module that takes something under a name. */
const takes = (module: string, name: string, type: string, given: string): string =>
  `${provider} (core module $to (import "${module}" "${name}" ${type}))
   (core instance (instantiate $to (with "${module}" (instance (export "${name}" ${given})))))`;

/** Ways in which a component hands a name to the program that runs it. */
const ways: Readonly<Record<string, (name: string) => ComponentParts>> = {
  'a function that a module imports': (name) => ({ before: takes('m', name, '(func)', '(func $f)') }),
  'a module that is imported from': (name) => ({ before: takes(name, 'f', '(func)', '(func $f)') }),
  'a memory that a module imports': (name) => ({ before: takes('m', name, '(memory 1)', '(memory $m)') }),
  'a table that a module imports': (name) => ({ before: takes('m', name, '(table 1 funcref)', '(table $t)') }),
  'a variable that a module imports': (name) => ({ before: takes('m', name, '(global i32)', '(global $g)') }),
  'a function that a module exports': (name) => ({
    before: `(core module $from (func (export "${name}"))) (core instance $p (instantiate $from))
      (core module $to (import "m" "f" (func))) (alias core export $p "${name}" (core func $f))
      (core instance (instantiate $to (with "m" (instance (export "f" (func $f))))))`,
  }),
  'a built-in function that a module is given': (name) => ({
    before: `(type $r (resource (rep i32))) (core func $new (canon resource.new $r))
      (core module $to (import "m" "${name}" (func (param i32) (result i32))))
      (core instance (instantiate $to (with "m" (instance (export "${name}" (func $new))))))`,
  }),
};

for (const [what, around] of Object.entries(ways))
  Hostile(`program text in the name of ${what} does not run`, async ({ dir, host }) => {
    const mark = join(dir, 'escaped');
    const evil = `globalThis.process.getBuiltinModule('node:fs').writeFileSync('${mark}','')`;
    for (const name of [
      `a':0,__proto__:(${evil},new Proxy({},{get:()=>()=>0})),'z`,
      `a'];${evil};['`,
      `a*/;${evil};/*`,
      `\\0a\\0d\\0a${evil}//`,
      `\${${evil}}`,
    ]) {
      const source = await watPlugin(join(dir, 'plugin'), { go: '(i32.const 1)', around: around(name) });
      const answer = await host.load(source).then(
        async (plugin) => {
          const ran = await runPlugin(plugin, 'go');
          await plugin.close();
          return ran;
        },
        (error: AanaError) => error.name,
      );
      assert.ok(answer === 1 || answer === 'PluginLoadError', String(answer));
      assert.not(existsSync(mark));
    }
  });

Hostile('names for debuggers do not reach the program', async ({ dir, host }) => {
  const name = 'identifier0of0nothing0else';
  const source = await watPlugin(join(dir, 'plugin'), {
    declarations: `(func $${name}) (global $${name} i32 (i32.const 0)) (table $${name} 1 funcref)`,
    go: '(i32.const 1)',
    around: {
      before: `(core module $${name} (func $${name} (export "f"))) (core instance $${name} (instantiate $${name}))
        (alias core export $${name} "f" (core func $${name})) (type $${name} (enum "a"))`,
    },
  });
  const file = join(source, 'dist', 'wat.wasm');
  const bytes = await readFile(file, 'latin1');
  const evil = `'];/**/process.exit(7);//\n`.padEnd(name.length, ';');
  assert.ok(bytes.split(name).length > 5);
  await writeFile(file, bytes.replaceAll(name, evil), 'latin1');
  assert.is(await runPlugin(await host.load(source), 'go'), 1);
});

Hostile.run();
