import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { describeFileTimes, longestFirst } from './file-times.ts';

const Times = suite('the CPU times of test files');

Times('start the longest file first, and files without a time before all others', () => {
  assert.equal(longestFirst(['a', 'b', 'c', 'd', 'e'], { a: 1, b: 30, c: 4 }), ['e', 'd', 'b', 'c', 'a']);
});

Times('are shown for the ten slowest files, with their sum', () => {
  const times = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`file-${index}`, index * 10]));
  const lines = describeFileTimes(times).split('\n');
  assert.is(lines.length, 12);
  assert.match(lines[1] ?? '', /110\.0 s {2}file-11$/);
  assert.match(lines[10] ?? '', /20\.0 s {2}file-2$/);
  assert.match(lines[11] ?? '', /11\.0 minutes$/);
});

Times('include the time of child processes that have ended', () => {
  if (process.platform !== 'linux') return console.log('SKIP child processes: only Linux tells their CPU time');
  const folder = mkdtempSync(join(tmpdir(), 'aana-cpu-'));
  try {
    const file = join(folder, 'cpu');
    const busy = 'const end = process.cpuUsage().user + 3e5; while (process.cpuUsage().user < end);';
    const parent = `require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(busy)}])`;
    const preload = new URL('cpu-seconds.js', import.meta.url).href;
    const env = { ...process.env, AANA_TEST_CPU_FILE: file };
    assert.is(spawnSync(process.execPath, ['--import', preload, '-e', parent], { env }).status, 0);
    assert.ok(Number(readFileSync(file, 'utf8')) >= 0.3);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Times.run();
