import { join } from 'node:path';
import { build } from 'esbuild';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../../base/core/package-root.ts';
import { splitText } from '../../../base/splitting/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { evaluateBundle } from './interpreter.ts';

const Interpreter = suite('the interpreter of a build');

const tell = (value: string): string => `globalThis.tell = () => String(${value});`;
const evaluate = (code: string): Promise<string> => evaluateBundle(code, 'tell', packageRoot);

Interpreter('returns what a bundle tells, which imports functions and resources of the host', async () => {
  const code = `
    import * as log from 'aana:host/log@0.1.0';
    import { Video } from 'aana:host/media@0.1.0';
    const isDone = await Promise.resolve(true);
    ${tell('[typeof log.log, typeof Video.open, isDone]')}`;
  assert.is(await evaluate(code), 'function,function,true');
});

Interpreter('gives it nothing of this process', async () => {
  const names = ['process', 'require', 'fetch', 'WebAssembly', 'setTimeout', 'Buffer'];
  assert.is(await evaluate(tell(`${JSON.stringify(names)}.filter((name) => name in globalThis)`)), '');
  const escape = `(() => {}).constructor('return typeof process')()`;
  assert.is(await evaluate(tell(escape)), 'undefined');
});

Interpreter('divides texts as this process does, without Intl', async () => {
  const folder = join(packageRoot, 'dist/host/base/splitting');
  const text = 'One two. Three four! Ça va? 漢字。かな！👩‍👩‍👧‍👦🇫🇷 नमस्ते। "So?" x\n\n# Five\n'.repeat(30);
  const chunks = `await splitText(${JSON.stringify(text)}, { maxTokens: 30, kind: 'markdown' })`;
  const contents = `import { splitText } from './index.js'; const list = ${chunks}; ${tell('JSON.stringify(list)')}`;
  const stdin = { contents, resolveDir: folder };
  const { outputFiles } = await build({ stdin, bundle: true, write: false, format: 'esm' });
  const expected = await splitText(text, { maxTokens: 30, kind: 'markdown' });
  assert.equal(JSON.parse(await evaluate(outputFiles[0]?.text ?? '')), expected);
  assert.ok(expected.length > 30);
});

const failures: { readonly what: string; readonly code: string }[] = [
  { what: 'throws', code: `throw new Error('never'); ${tell('1')}` },
  { what: 'calls the host', code: `import { bytes } from 'aana:host/random@0.1.0'; bytes(1); ${tell('1')}` },
  { what: 'imports what the host does not have', code: `import 'aana:host/other@0.1.0'; ${tell('1')}` },
  { what: 'imports a file', code: `import '/etc/hostname'; ${tell('1')}` },
  { what: 'waits for ever', code: `await new Promise(() => {}); ${tell('1')}` },
  { what: 'never stops calling itself', code: `const f = () => f() + 1; f(); ${tell('1')}` },
  { what: 'tells nothing', code: '' },
  { what: 'has an error when it tells', code: tell('[].a.b') },
];
for (const { what, code } of failures)
  Interpreter(`rejects a bundle that ${what}`, async () => {
    await errorOf(evaluate(code), Error);
  });

Interpreter.run();
