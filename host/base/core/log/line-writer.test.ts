import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../deferred.ts';
import { LineWriter, type LineWriterOptions } from './line-writer.ts';

const Lines = suite('the writer of lines');

/** Returns a writer whose writes end when the test says so. */
function controlled(options: Partial<LineWriterOptions> = {}) {
  const writes: { readonly text: string; end(error?: Error): Promise<void> }[] = [];
  let last = '';
  const writer = new LineWriter({
    sink: {
      write: (text) => {
        const done = deferred();
        const end = async (reason?: Error): Promise<void> => {
          if (reason) done.reject(reason);
          else done.resolve();
          for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
        };
        writes.push({ text, end });
        return done.promise;
      },
      writeLast: (text) => void (last += text),
    },
    notice: (lines, reason) => `(${lines} ${reason})\n`,
    ...options,
  });
  return { writer, writes, last: () => last };
}

const failure = (code: string): Error => Object.assign(new Error(code), { code });

Lines('writes the first line at once, and lines that come meanwhile together', async () => {
  const { writer, writes } = controlled();
  for (const line of ['a\n', 'b\n', 'c\n']) writer.write(line);
  assert.equal(
    writes.map(({ text }) => text),
    ['a\n'],
  );
  await writes[0]?.end();
  assert.is(writes[1]?.text, 'b\nc\n');
  await writes[1]?.end();
  assert.is(writes.length, 2);
  assert.equal(writer.dropped(), []);
});

Lines('drops the lines that have no room, and says at their place how many', async () => {
  const { writer, writes } = controlled({ maxChars: 4 });
  for (const line of ['a\n', 'b\n', 'c\n', 'd\n', 'e\n']) writer.write(line);
  await writes[0]?.end();
  assert.is(writes[1]?.text, 'b\nc\n(2 queue_full)\n');
  writer.write('f\n');
  await writes[1]?.end();
  assert.is(writes[2]?.text, 'f\n');
  assert.equal(writer.dropped(), [{ reason: 'queue_full', lines: 2 }]);
});

Lines('counts the lines of failed writes, and tells about them with the first write that succeeds', async () => {
  const { writer, writes } = controlled({ retryMs: 1 });
  writer.write('a\n');
  await writes[0]?.end(failure('ENOSPC'));
  assert.equal(writer.dropped(), [{ reason: 'ENOSPC', lines: 1 }]);
  while (writes.length < 2) await new Promise(setImmediate);
  assert.is(writes[1]?.text, '(1 ENOSPC)\n', 'also without another line');
  await writes[1]?.end(failure('ENOSPC'));
  assert.equal(writer.dropped(), [{ reason: 'ENOSPC', lines: 1 }], 'a notice is no line');
  writer.write('b\n');
  while (writes.length < 3) await new Promise(setImmediate);
  assert.is(writes[2]?.text, '(1 ENOSPC)\nb\n');
});

Lines('gives up when the reader has gone', async () => {
  const { writer, writes } = controlled();
  for (const line of ['a\n', 'b\n']) writer.write(line);
  await writes[0]?.end(failure('EPIPE'));
  writer.write('c\n');
  assert.is(writes.length, 1);
  assert.equal(writer.dropped(), [{ reason: 'EPIPE', lines: 3 }]);
});

Lines('waits a limited time for the end of the writes, and passes the rest on at the end of the process', async () => {
  const { writer, writes, last } = controlled();
  for (const line of ['a\n', 'b\n']) writer.write(line);
  await writer.flush(1);
  assert.is(writes.length, 1);
  const flushed = writer.flush(60_000);
  await writes[0]?.end();
  await writes[1]?.end();
  await flushed;
  writer.write('c\n');
  writer.write('d\n');
  writer.end();
  assert.is(last(), 'd\n', 'the line before is being written');
});

Lines.run();
