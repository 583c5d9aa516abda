import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { inArea, LogLevels } from './log-levels.ts';
import { createLogger, type LogLevel } from './logger.ts';

function capture(level: LogLevel, format: 'text' | 'json') {
  const lines: string[] = [];
  return { lines, log: createLogger({ level, format, write: (line) => lines.push(line), now: () => new Date(0) }) };
}

const Log = suite('the logger');

Log('writes a line of text with its fields and the fields of its parents', () => {
  const { lines, log } = capture('info', 'text');
  log
    .child({ deployment: 'asr' })
    .warn('replica exited', { signal: 'SIGKILL', uptimeMs: 12, reason: new Error('a b'), none: undefined });
  assert.equal(lines, ['00:00:00.000 WARN  replica exited deployment=asr signal=SIGKILL uptimeMs=12 reason="a b"\n']);
});

Log('writes one JSON object a line, also when a field holds a line break', () => {
  const { lines, log } = capture('debug', 'json');
  log.debug('x', { text: 'a\nb' });
  assert.is(lines.length, 1);
  assert.equal(JSON.parse(lines[0] ?? ''), {
    time: '1970-01-01T00:00:00.000Z',
    level: 'debug',
    message: 'x',
    text: 'a\nb',
  });
});

Log('writes text without commands for a terminal, and indents further lines', () => {
  const { lines, log } = capture('debug', 'text');
  log.info('plugin said\r\n00:00:00.000 WARN  replica exited\r\u2028x\n', { a: 'a\nb\u001b[2J\u009bm', 'key\n': 1 });
  assert.equal(lines, [
    '00:00:00.000 INFO  plugin said a="a\\nb\\u001b[2J\\u009bm" key\\u000a=1\n' +
      '    00:00:00.000 WARN  replica exited\\u000d\\u2028x\n',
  ]);
});

Log('writes the lines of stacks and texts below the line, also those of a plugin', () => {
  const { lines, log } = capture('debug', 'text');
  const stack = 'RangeError: no\n    at run (src/index.ts:3:5)\n';
  log.error('request failed', { error: 'RangeError', stack: '    at a\n    at b\u001b[2J' });
  log.error('endpoint failed', { plugin: 'p', fields: { endpoint: 'e', stack } });
  log.warn('plugin printed', { fields: { text: 'one\n\ntwo' }, text: 'short' });
  assert.equal(lines, [
    '00:00:00.000 ERROR request failed error=RangeError\n    at a\n    at b\\u001b[2J\n',
    '00:00:00.000 ERROR endpoint failed plugin=p fields={"endpoint":"e"}\n' +
      '    RangeError: no\n    at run (src/index.ts:3:5)\n',
    '00:00:00.000 WARN  plugin printed fields={} text=short\n    one\n    \n    two\n',
  ]);
});

Log('lets no field replace time, level or message', () => {
  const { lines, log } = capture('debug', 'json');
  log.info('x', { time: 'never', level: 'error', message: 'y', kept: 1 });
  assert.equal(JSON.parse(lines[0] ?? ''), { time: '1970-01-01T00:00:00.000Z', level: 'info', message: 'x', kept: 1 });
});

for (const format of ['text', 'json'] as const) {
  Log(`survives fields that are too deep, too large, or have no JSON, as ${format}`, () => {
    const { lines, log } = capture('debug', format);
    const deep: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000));
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    for (const value of [
      deep,
      cycle,
      5n,
      Array(1e6).fill('x'),
      'y'.repeat(1e7),
      { toJSON: () => assert.unreachable() },
    ])
      log.info('x', { value });
    assert.is(lines.length, 6);
    for (const line of lines) assert.ok(line.length < 100_000 && line.indexOf('\n') === line.length - 1);
  });
}

Log('drops lines below its level', () => {
  const { lines, log } = capture('warn', 'text');
  log.info('x');
  log.debug('x');
  assert.is(lines.length, 0);
});

Log('has levels for areas that change while it is used', () => {
  const lines: string[] = [];
  const levels = new LogLevels('info', { http: 'error' });
  const log = createLogger({ level: (area) => levels.of(area), format: 'text', write: (line) => lines.push(line) });
  const [http, tasks] = [inArea(log, 'http').child({ requestId: 'r' }), inArea(log, 'tasks')];
  const said = (): string[] => {
    lines.length = 0;
    for (const one of [log, http, tasks]) {
      one.debug('fine');
      one.info('news');
    }
    return lines.map((line) => line.slice(13).trimEnd());
  };
  assert.equal(said(), ['INFO  news', 'INFO  news area=tasks']);
  levels.change({ level: 'warn', levels: { http: 'debug' } });
  assert.equal(said(), ['DEBUG fine area=http requestId=r', 'INFO  news area=http requestId=r']);
  assert.equal(levels.list(), { level: 'warn', levels: { http: 'debug' } });
  levels.change({ levels: { http: null } });
  assert.equal(said(), []);
});

Log.run();
