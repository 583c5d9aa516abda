import { writeSync } from 'node:fs';

/** The exit code of a reader for a file that it cannot read. The last line of stderr says why. */
export const EXIT_UNREADABLE = 3;

/** Ends a reader's process. @param unreadable why the file cannot be read: a predicate */
export function refuse(unreadable: string): never {
  writeSync(process.stderr.fd, `${unreadable}\n`);
  process.exit(EXIT_UNREADABLE);
}

/** Writes a text, and waits until the host has it, which ends this process if there is too much. */
export const write = (text: string): Promise<unknown> => new Promise((resolve) => process.stdout.write(text, resolve));
