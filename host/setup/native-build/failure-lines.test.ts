import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FailureLines } from './failure-lines.ts';

const failureOf = (...lines: string[]): string => {
  const failure = new FailureLines();
  for (const line of lines) failure.add(line);
  return `${failure}`;
};
const many = (text: string): string[] => Array.from({ length: 200 }, (_, n) => `${text} ${n}`);

test('the error of a compiler is told among many warnings', () => {
  const error = 'projector.cc:35:7: error: conflicting declaration';
  for (const [before, after] of [
    [[], []],
    [many('warning'), []],
    [[], many('warning')],
    [many('warning'), many('warning')],
  ] as const) {
    const text = failureOf(
      '[1/9] Building',
      'FAILED: core.o',
      'g++ -c core.cc',
      ...before,
      error,
      ...after,
      'ERROR OMG Process terminated: 1',
    );
    assert.ok(text.includes(error), text);
    assert.not.ok(text.includes('[1/9]'), text);
    assert.is(text.startsWith('FAILED: core.o\n'), before.length === 0);
  }
});

test('what a linker misses is told before its error', () => {
  const text = failureOf(
    ...many('[1/9] Linking'),
    'FAILED: a.node',
    'ld: undefined reference to `f`',
    'collect2: error: ld returned 1 exit status',
  );
  assert.is(text, 'FAILED: a.node\nld: undefined reference to `f`\ncollect2: error: ld returned 1 exit status');
});

test('the last lines are told if no command failed', () => {
  const text = failureOf(...many('line'), 'Killed');
  assert.ok(text.endsWith('line 199\nKilled'));
  assert.is(text.split('\n').length, 60);
});

test.run();
