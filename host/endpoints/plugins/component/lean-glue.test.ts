import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { buildPlugin } from '../build/build-plugin.ts';
import { readComponent } from './component.ts';
import { bestMode } from './core-modules/wasm-features.ts';
import { guestSources } from '../fixtures/guest.ts';
import { leanGlue } from './lean-glue.ts';

const Glue = suite<{ dir: string }>('lean glue');

Glue.before(async (context) => {
  context.dir = await mkdtemp(join(tmpdir(), 'aana-glue-'));
});
Glue.after(async ({ dir }) => rm(dir, { recursive: true, force: true }));

// A Node that cannot suspend cannot load glue for a Node that can.
for (const mode of bestMode() === 'suspending' ? (['suspending', 'blocking'] as const) : (['blocking'] as const)) {
  Glue(`every import of real components is lean and counts its arguments, ${mode}`, async ({ dir }) => {
    for (const fixture of ['conformance', 'capabilities']) {
      const { component } = await buildPlugin(guestSources(fixture), { log: silentLogger });
      const translated = await readComponent(component, { plugin: fixture, cacheDir: dir, mode });
      const { glue } = await translated.compile(64 * 1024 * 1024);
      const text = await readFile(fileURLToPath(glue!), 'utf8');
      const functions = [...text.matchAll(/^ {2}const (_trampoline\d+) = /gm)].map(([, name]) => name!);
      assert.ok(functions.length > 20, `${functions.length} imports`);
      assert.equal(
        [...text.matchAll(/_trackHostOperation\(\(\)|_lowerImportBackwardsCompat\.bind/g)].length,
        0,
        'the shape of the generated glue has changed: see lean-glue.ts',
      );
      assert.not.match(
        text,
        /TEXT_DECODER_UTF8\.decode\(new Uint8Array\(memory\d+\.buffer, \w+, \w+\)\)|\.buffer\.slice\((\w+), \1 \+ \w+ \* \d+\)/,
        'the shape of the generated glue has changed: see bounded-lifting.ts',
      );
      for (const name of functions)
        assert.ok(
          text.includes(`${name} = function(`) &&
            text.includes(` = ${name}.manuallyAsync ? new WebAssembly.Suspending(${name}) : ${name};`),
          name,
        );
    }
  });
}

Glue('what it does not know stays as it was generated', () => {
  const unknown = `  const _trampoline1 = function(arg0) {
    const hostProvided = true;
    let ret = somethingElse(arg0);
    task.resolve([ret]);
    task.exit();
  }
  _trampoline1.fnName = 'x#y';
  let trampoline1 = _trampoline1.manuallyAsync ? new WebAssembly.Suspending(_lowerImportBackwardsCompat.bind(
  null,
  {
    componentIdx: 1,
  },
  )) : _lowerImportBackwardsCompat.bind(
  null,
  {
    componentIdx: 1,
  },
  );
`;
  assert.is(leanGlue(unknown), unknown);
});

Glue.run();
