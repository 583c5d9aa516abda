import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLogger, type LogLevel } from './logger.ts';

function capture(level: LogLevel, format: 'text' | 'json') {
  const lines: string[] = [];
  return { lines, log: createLogger({ level, format, write: (line) => lines.push(line), now: () => new Date(0) }) };
}

const Log = suite('the logger');

Log('writes a line of text with its fields and those of its parents', () => {
  const { lines, log } = capture('info', 'text');
  log.child({ deployment: 'asr' }).warn('replica exited', { signal: 'SIGKILL', uptimeMs: 12, reason: new Error('a b'), none: undefined });
  assert.equal(lines, ['00:00:00.000 WARN  replica exited deployment=asr signal=SIGKILL uptimeMs=12 reason="a b"\n']);
});

Log('writes one JSON object a line, also when a field holds a line break', () => {
  const { lines, log } = capture('debug', 'json');
  log.debug('x', { text: 'a\nb' });
  assert.is(lines.length, 1);
  assert.equal(JSON.parse(lines[0] ?? ''), { time: '1970-01-01T00:00:00.000Z', level: 'debug', message: 'x', text: 'a\nb' });
});

Log('drops what is below its level', () => {
  const { lines, log } = capture('warn', 'text');
  log.info('x');
  log.debug('x');
  assert.is(lines.length, 0);
});

Log.run();
