// The programs in native/test/sandbox: unit tests of values and frames, and a program that is confined as the sandbox
// is and tries to leave.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sandbox } from './fixtures/serve-component.ts';

const folder = dirname(sandbox.program);
const confined = join(folder, 'aana-sandbox-confined');
const confine = [sandbox.program, 'confine', `read=${folder}`, `total-bytes=${64 << 20}`, '--'];

for (const [title, command] of [
  ['values and frames of the sandbox', [join(folder, 'aana-sandbox-test')]],
  ['a program that is confined as the sandbox is', [confined]],
  ['a program that the sandbox confines', [...confine, confined, 'program']],
] as const) {
  const tests = suite(title);
  const [program, ...args] = command;
  const { status, signal, stdout } = spawnSync(program!, args, { encoding: 'utf8', env: { SECRET: 'of the host' } });
  for (const [, result, test = '', problem = ''] of stdout.matchAll(/^(ok {2}|FAIL )([^:\n]*)(?:: (.*))?$/gm))
    tests(test, () => assert.is(result, 'ok  ', problem));
  tests('the program ran to its end', () => assert.equal([status === 0 || status === 1, signal], [true, null]));
  tests.run();
}
