// The unit tests of sampling in native/test/sampling, each as a test of its own.
import { spawnSync } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildProgram, cannotBuild } from './fixtures/test-program.ts';

const Sampling = suite('sampling');
const packageRoot = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const reason = cannotBuild(packageRoot);

if (reason === undefined) {
  const { status, signal, stdout } = spawnSync(buildProgram(packageRoot, 'aana-sampling-test'), { encoding: 'utf8' });
  for (const [, result, title = '', problem = ''] of stdout.matchAll(/^(ok {2}|FAIL )([^:\n]*)(?:: (.*))?$/gm))
    Sampling(title, () => assert.is(result, 'ok  ', problem));
  Sampling('the program of the tests ran to its end', () =>
    assert.equal([status === 0 || status === 1, signal], [true, null]),
  );
} else {
  process.stdout.write(`SKIP sampling: ${reason}\n`);
}

Sampling.run();
