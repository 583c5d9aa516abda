import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { failedTests, isWanted, readResult } from './run.ts';

const uvuOutput = (total: number, passed: number): string =>
  `\n  Total:     ${total}\n  Passed:    ${passed}\n  Skipped:   0\n  Duration:  1ms\n`;

const Runner = suite('the test runner');

Runner('counts the results that uvu reports', () => {
  const { passed, failed, skipped } = readResult(uvuOutput(5, 3), 1, null, false);
  assert.equal({ passed, failed, skipped }, { passed: 3, failed: 2, skipped: 0 });
});

Runner('fails a file that ran no test', () => {
  assert.is(readResult(uvuOutput(0, 0), 0, null, false).failed, 1);
  assert.is(readResult('', 0, null, false).failed, 1);
});

Runner('fails a file that was killed, timed out or exited early, even if all its tests passed', () => {
  assert.is(readResult(uvuOutput(2, 2), null, 'SIGABRT', false).failed, 1);
  assert.is(readResult(uvuOutput(2, 2), null, 'SIGKILL', true).failed, 1);
  assert.is(readResult(uvuOutput(2, 2), 3, null, false).failed, 1);
});

Runner('finds the names of failed tests', () => {
  const output = ' suite  • ✘\n\n   FAIL  suite  "one (seed 7)"\n    Expected values to be equal\n FAILED\n';
  assert.equal(failedTests(output), ['   FAIL  suite  "one (seed 7)"']);
  assert.equal(failedTests('a FAIL in a text\nFAIL at the start\n'), []);
});

Runner('counts SKIP lines, and accepts a file that only skipped', () => {
  const result = readResult(`SKIP a: no model\nSKIP b: no model\n${uvuOutput(0, 0)}`, 0, null, false);
  assert.is(result.skipped, 2);
  assert.is(result.failed, 0);
});

Runner(
  'runs the files whose paths contain one of the words, and no file that contains a word after an exclamation mark',
  () => {
    const files = ['host/io/media/probe.test.ts', 'host/setup/models/store.test.ts', 'native/lib/llama.test.ts'];
    const chosen = (...words: string[]): string[] => files.filter((file) => isWanted(file, words));
    assert.equal(chosen(), files);
    assert.equal(chosen('media', 'native'), [files[0], files[2]]);
    assert.equal(chosen('!host/setup/models'), [files[0], files[2]]);
    assert.equal(chosen('host', '!models'), [files[0]]);
  },
);

Runner.run();
