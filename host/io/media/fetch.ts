import type { IncomingMessage } from 'node:http';
import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { downloadError, follow, type Guards, type Hop, parseUrl, withinTime } from '../outgoing/index.ts';
import { isDiskFull } from '../../base/core/errors.ts';
import type { CachedFetch } from './cache/cached-fetch.ts';
import { diskFullError, urlTooLargeError } from './errors.ts';

export interface FetchOptions extends Guards {
  readonly maxBytes: number;
  /** The use of a cache by this fetch, for the same path. */
  readonly cached?: CachedFetch | undefined;
}

export interface Fetched {
  readonly bytes: number;
  /** How a kept file was used: without a request to its server, or after the server said that it has not changed. */
  readonly hit?: 'fresh' | 'confirmed';
}

/**
 * Fetches `address` (http or https) into the new file `path`, under the guards of outgoing requests. Returns `'page'`
 * for a web page, which is not read. Removes an unfinished file. Throws `DownloadException`,
 * `PrivateAddressException`, `MediaTooLargeException`, `DiskFullException`, or the signal's reason.
 */
export async function fetchToFile(address: string, path: string, options: FetchOptions): Promise<Fetched | 'page'> {
  options.signal?.throwIfAborted();
  const start = parseUrl(address);
  const { cached, maxBytes } = options;
  try {
    return await withinTime(start, options, async (active) => {
      const prepare = cached && ((hop: Hop) => cached.ask(hop, active.signal));
      const answer = await follow(firstHop(start), active, prepare);
      if (!answer) return { bytes: requireSmall(start, cached!.kept!.bytes, maxBytes), hit: 'fresh' };
      const { url, message } = answer;
      const status = message.statusCode ?? 0;
      if (status === 304 && cached?.kept) {
        message.destroy();
        const bytes = requireSmall(start, cached.kept.bytes, maxBytes);
        if (await cached.confirm(message.headers)) return { bytes, hit: 'confirmed' };
        await rm(path);
        return await fetchToFile(address, path, { ...active, ...{ cached: undefined } }); // the whole file
      }
      if (status < 200 || status > 299) {
        message.destroy();
        throw downloadError(
          start,
          `the server answered with status ${status}${message.statusMessage ? ` ${message.statusMessage}` : ''}`,
        );
      }
      if (isPage(message)) {
        message.destroy();
        await rm(path, { force: true });
        return 'page';
      }
      const bytes = await save(url, message, path, active);
      if (status === 200) await cached?.keep(bytes);
      return { bytes };
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
  { maxBytes, signal, cached }: FetchOptions,
): Promise<number> {
  try {
    requireSmall(url, Number(message.headers['content-length'] ?? 0), maxBytes);
    const encoding = message.headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity')
      throw downloadError(url, `the server sent it in the encoding ${encoding}, which the request did not accept`);
    await cached?.begin(message.headers);
    // pipeline() is not used here, because it never settles if writing fails while the end of a response waits in
    // memory and its connection is closed (Node 20 to 24).
    await using file = await open(path, 'wx', 0o600);
    let bytes = 0;
    for await (const chunk of message as AsyncIterable<Buffer>) {
      bytes = requireSmall(url, bytes + chunk.length, maxBytes);
      cached?.add(chunk);
      await file.writeFile(chunk);
      signal?.throwIfAborted();
    }
    return bytes;
  } catch (error) {
    message.destroy();
    throw isDiskFull(error) ? diskFullError(dirname(path), error, cached && 'cache_dir') : error;
  }
}

function requireSmall(url: URL, bytes: number, maxBytes: number): number {
  if (bytes > maxBytes) throw urlTooLargeError(url, maxBytes);
  return bytes;
}
