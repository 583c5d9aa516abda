/**
 * `crypto.getRandomValues` and `crypto.randomUUID` with random bytes from the host, for components whose code names
 * them.
 */
import { bytes as hostBytes } from 'aana:host/random@0.1.0';
import { mustRun } from '../running.ts';
import { uuid } from '../uuid.ts';

declare const DOMException: new (message: string, name: string) => Error;

const MAX_BYTES = 65_536;

export function getRandomValues<T extends ArrayBufferView>(into: T): T {
  if (
    !ArrayBuffer.isView(into) ||
    into instanceof DataView ||
    Object.prototype.toString.call(into).startsWith('[object Float')
  ) {
    throw new DOMException('getRandomValues fills typed arrays of integers', 'TypeMismatchError');
  }
  if (into.byteLength > MAX_BYTES)
    throw new DOMException(
      `getRandomValues fills at most ${MAX_BYTES} bytes, not ${into.byteLength}`,
      'QuotaExceededError',
    );
  mustRun('crypto.getRandomValues');
  new Uint8Array(into.buffer, into.byteOffset, into.byteLength).set(hostBytes(into.byteLength));
  return into;
}

export function randomUUID(): string {
  mustRun('crypto.randomUUID');
  return uuid(hostBytes(16));
}
