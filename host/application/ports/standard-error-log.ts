import { write as writeCallback, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import process from 'node:process';
import { promisify } from 'node:util';
import { type DroppedLines, LineWriter, type LineSink } from '../../base/core/log/line-writer.ts';
import { formatRecord } from '../../base/core/log/logger.ts';

type Format = 'text' | 'json';

/** Applications of one process share the standard error, so they share its writers. */
const writers = new Map<Format, LineWriter>();

/** Returns the writer of log lines to the standard error. It never makes a request wait for a reader or a disk. */
export function standardErrorLog(format: Format): LineWriter {
  let writer = writers.get(format);
  if (!writer) {
    const made = new LineWriter({
      sink: standardError(),
      notice: (lines, reason) =>
        formatRecord(
          { time: new Date().toISOString(), level: 'warn', message: 'log lines dropped', fields: { lines, reason } },
          format,
        ),
    });
    process.once('exit', () => made.end());
    writers.set(format, made);
    writer = made;
  }
  return writer;
}

/** Returns how many log lines this process could not write, by reason. */
export function droppedLogLines(): DroppedLines[] {
  return [...writers.values()].flatMap((writer) => writer.dropped());
}

/** Waits until the log is written, at most `ms` milliseconds. */
export async function flushLogs(ms: number): Promise<void> {
  await Promise.all([...writers.values()].map((writer) => writer.flush(ms)));
}

const writeFile = promisify(writeCallback);

function standardError(): LineSink {
  const { stderr } = process;
  // The stream of a pipe does not block. That of a file does, and so files are written by their number.
  const isStream = (stderr as unknown) instanceof Socket;
  return {
    write: isStream
      ? (text) =>
          new Promise((resolve, reject) => {
            stderr.write(text, (error) => (error ? reject(error) : resolve()));
          })
      : (text) => writeWhole(stderr.fd, Buffer.from(text)),
    writeLast: (text) => {
      if (isStream && stderr.writableLength > 0) return; // its lines would be in the middle of others
      try {
        writeSync(stderr.fd, text);
      } catch {
        // The process ends, and nobody can be told.
      }
    },
  };
}

async function writeWhole(fd: number, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += (await writeFile(fd, bytes, at, bytes.length - at)).bytesWritten;
}
