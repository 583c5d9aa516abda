import type { IncomingMessage } from 'node:http';
import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { downloadError, follow, type Guards, type Hop, parseUrl, withinTime } from '../outgoing/index.ts';
import { isDiskFull } from '../../base/core/errors.ts';
import { diskFullError, urlTooLargeError } from './errors.ts';

export interface FetchOptions extends Guards {
  readonly maxBytes: number;
}

/**
 * Fetches `address` (http or https) into the new file `path`, under the guards of outgoing requests. Returns the size
 * of the file, or `'page'` for a web page, which is not read. Removes an unfinished file. Throws `DownloadException`,
 * `PrivateAddressException`, `MediaTooLargeException`, `DiskFullException`, or the signal's reason.
 */
export async function fetchToFile(address: string, path: string, options: FetchOptions): Promise<number | 'page'> {
  options.signal?.throwIfAborted();
  const start = parseUrl(address);
  try {
    return await withinTime(start, options, async (active) => {
      const { url, message } = await follow(firstHop(start), active);
      const status = message.statusCode ?? 0;
      if (status < 200 || status > 299) {
        message.destroy();
        throw downloadError(
          start,
          `the server answered with status ${status}${message.statusMessage ? ` ${message.statusMessage}` : ''}`,
        );
      }
      if (isPage(message)) {
        message.destroy();
        return 'page';
      }
      return save(url, message, path, options.maxBytes, active.signal);
    });
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

function isPage({ headers }: IncomingMessage): boolean {
  return /^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i.test(headers['content-type'] ?? '');
}

/**
 * Returns the first request. The user name and password of the URL become a header, which is sent only to the URL's
 * origin. Credentials in a redirect are not used.
 */
function firstHop(start: URL): Hop {
  const headers: [string, string][] = [];
  if (start.username !== '' || start.password !== '') {
    let pair: string;
    try {
      pair = `${decodeURIComponent(start.username)}:${decodeURIComponent(start.password)}`;
    } catch (error) {
      throw downloadError(start, 'a "%" in its user name or password is not followed by a code', error);
    }
    headers.push(['authorization', `Basic ${Buffer.from(pair).toString('base64')}`]);
  }
  return { method: 'GET', url: start, headers };
}

async function save(
  url: URL,
  message: IncomingMessage,
  path: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<number> {
  const announced = Number(message.headers['content-length']);
  if (announced > maxBytes) {
    message.destroy();
    throw urlTooLargeError(url, maxBytes);
  }
  const encoding = message.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    message.destroy();
    throw downloadError(url, `the server sent it in the encoding ${encoding}, which the request did not accept`);
  }
  try {
    // pipeline() is not used here, because it never settles if writing fails while the end of a response waits in
    // memory and its connection is closed (Node 20 to 24).
    await using file = await open(path, 'wx', 0o600);
    let bytes = 0;
    for await (const chunk of message as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw urlTooLargeError(url, maxBytes);
      await file.writeFile(chunk);
      signal.throwIfAborted();
    }
    return bytes;
  } catch (error) {
    throw isDiskFull(error) ? diskFullError(dirname(path), error) : error;
  }
}
