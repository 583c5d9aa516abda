import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

const maxBytes = 16 * 1024;

/**
 * Returns the text of a file without its last line break, or the reason why it has none. It takes about 10 µs, so it
 * is read for each invocation, which always gets the present text.
 */
export function readSettingFile(path: string): { readonly text: string } | { readonly problem: string } {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK); // a pipe would not be opened before its writer
    if (!fstatSync(fd).isFile()) return { problem: 'it is not a file' };
    const bytes = Buffer.allocUnsafe(maxBytes + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(fd, bytes, length, bytes.length - length, null);
    if (length > maxBytes) return { problem: `it has more than ${maxBytes} bytes` };
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
    return { text: text.replace(/\r?\n$/, '') };
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    return { problem: name === 'TypeError' ? 'it is not UTF-8' : `it cannot be read (${code})` };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
