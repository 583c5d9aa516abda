import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

const maxBytes = 16 * 1024;
/** An editor or a copy that writes a file in place takes less. */
const settleMs = 1000;

/** What a file or a variable says, or the reason why it says nothing. */
export interface FileText {
  readonly text?: string | undefined;
  readonly problem?: string | undefined;
  readonly inode?: number | undefined;
}

/**
 * Returns the text of a file without its last line break, or the reason why it has none. It takes about 10 µs, so it
 * is read for each invocation. A file that is written in place has half of its text for a moment: within a second after
 * a change it keeps the text that it had, `before`. A file that was put in its place counts at once.
 */
export function readSettingFile(path: string, before?: FileText): FileText {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK); // a pipe would not be opened before its writer
    const file = fstatSync(fd);
    if (!file.isFile()) return { problem: 'it is not a file' };
    // The time is far in the future where somebody has set a clock back.
    const isFresh = Math.abs(Date.now() - file.mtimeMs) < settleMs;
    if (isFresh && before?.text !== undefined && before.inode === file.ino) return before;
    const bytes = Buffer.allocUnsafe(maxBytes + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(fd, bytes, length, bytes.length - length, null);
    if (length > maxBytes) return { problem: `it has more than ${maxBytes} bytes` };
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
    return { text: text.replace(/\r?\n$/, ''), inode: file.ino };
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    return { problem: name === 'TypeError' ? 'it is not UTF-8' : `it cannot be read (${code})` };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
