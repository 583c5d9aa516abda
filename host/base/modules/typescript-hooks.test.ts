import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { LoadHookContext } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { load } from './typescript-hooks.ts';

const Hooks = suite<{ folder: string }>('reading TypeScript');
Hooks.before.each(async (context) => {
  context.folder = await mkdtemp(join(tmpdir(), 'aana-hooks-'));
});
Hooks.after.each(({ folder }) => rm(folder, { recursive: true }));

async function loaded(folder: string, source: string): Promise<unknown> {
  const file = join(folder, 'module.ts');
  await writeFile(file, source);
  const next = () => assert.unreachable('it is a TypeScript file') as never;
  return (await load(pathToFileURL(file).href, {} as LoadHookContext, next)).source;
}

Hooks('replaces types by spaces, so that positions stay', async ({ folder }) => {
  assert.is(
    await loaded(folder, 'import type { A } from "a";\nexport const b: number = 1;\n'),
    '                           \nexport const b         = 1;\n',
  );
});

for (const [what, source, at] of [
  ['an enum', 'const a = 1;\n  enum B { C }\n', '2:3: TypeScript enum is not supported'],
  ['a wrong word', 'const a: = 1;\n', '1:10: Unexpected token'],
] as const)
  Hooks(`names the place of ${what}`, async ({ folder }) => {
    const error = await loaded(folder, source).catch((cause: unknown) => cause);
    assert.instance(error, SyntaxError);
    assert.ok((error as Error).message.startsWith(`${join(folder, 'module.ts')}:${at}`), String(error));
  });

Hooks.run();
