// Loaded before a test file: writes the CPU seconds that the test file and its ended child processes took.
import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Of the times in `/proc`, on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;

/** Returns the CPU seconds of this process, and on Linux also of its children that have ended. */
function cpuSeconds(): number {
  if (process.platform !== 'linux') {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  }
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The name of the process, in parentheses, may contain spaces. utime, stime, cutime and cstime are fields 14 to 17.
  const times = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15);
  return times.map(Number).reduce((sum, ticks) => sum + ticks, 0) / TICKS_PER_SECOND;
}

const file = process.env['AANA_TEST_CPU_FILE'];
if (isMainThread && file !== undefined) {
  delete process.env['AANA_TEST_CPU_FILE']; // child processes must not write it
  process.on('exit', () => writeFileSync(file, String(cpuSeconds())));
}
