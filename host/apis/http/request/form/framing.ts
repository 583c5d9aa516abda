import type { IncomingMessage } from 'node:http';
import { tooLarge } from '../too-large.ts';

const CHECK_MS = 25;
/** Limit above the bytes that can be in buffers between the socket and the parts. */
const SLACK_BYTES = 4 * 1024 * 1024;

/**
 * Ends a request that has more than `limit` bytes outside of its parts, and what buffers can hold. formidable reads
 * without limit before the first part and after the last one.
 */
export function limitFraming(req: IncomingMessage, limit: number): Disposable & { account(bytes: number): void } {
  const start = req.socket.bytesRead;
  let accounted = 0;
  const timer = setInterval(() => {
    if (req.socket.bytesRead - start - accounted > limit + SLACK_BYTES)
      req.destroy(tooLarge('the form has too many bytes outside of its parts', limit + SLACK_BYTES));
  }, CHECK_MS);
  return {
    // base64 encodes three bytes as four
    account: (bytes) => void (accounted += Math.ceil((bytes * 4) / 3)),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
