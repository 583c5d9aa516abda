// The programs in native/test/sandbox: unit tests of values and frames, and a program that is confined as the sandbox
// is and tries to leave.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sandbox } from './fixtures/serve-component.ts';

for (const [title, name] of [
  ['values and frames of the sandbox', 'aana-sandbox-test'],
  ['a program that is confined as the sandbox is', 'aana-sandbox-confined'],
] as const) {
  const tests = suite(title);
  const program = join(dirname(sandbox.program), name);
  const { status, signal, stdout } = spawnSync(program, { encoding: 'utf8', env: { SECRET: 'of the host' } });
  for (const [, result, test = '', problem = ''] of stdout.matchAll(/^(ok {2}|FAIL )([^:\n]*)(?:: (.*))?$/gm))
    tests(test, () => assert.is(result, 'ok  ', problem));
  tests('the program ran to its end', () => assert.equal([status === 0 || status === 1, signal], [true, null]));
  tests.run();
}
