import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../../base/core/package-root.ts';
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
