import { createWriteStream } from 'node:fs';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { connect, type Network, reasonOf, send } from '../../../io/outgoing/index.ts';
import type { ReportProgress } from '../../packages/index.ts';
import { downloadError, UnreachableError } from './source-errors.ts';

export interface HttpDownloadOptions {
  readonly url: string;
  /** The file to write. The bytes of an earlier attempt in it are kept, and the download continues after them. */
  readonly partial: string;
  /**
   * Whether the digest of the content is known beforehand. If so, an earlier part is continued without asking the
   * server whether the content changed.
   */
  readonly isPinned: boolean;
  /** Sent only to the host of `url`, never to a host that it redirects to. */
  readonly token?: string | undefined;
  /** Time limit for the first answer. Default: 5000. */
  readonly answerTimeoutMs?: number | undefined;
  readonly network?: Network | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ReportProgress | undefined;
}

export interface HttpDownloadResult {
  /** The digest that the hub gives for the file, if any. */
  readonly sha256: string | undefined;
  readonly wasResumed: boolean;
}

const MAX_REDIRECTS = 8;
const HOP_TIMEOUT_MS = 20_000;
const STALL_MS = 30_000;
const ATTEMPTS = 4;

/**
 * Downloads `url` to `partial`. Continues an earlier part if the server supports it, and retries when the connection
 * breaks. Throws `UnreachableError` if there is no answer at all and `DownloadFailed` for other failures.
 */
export async function httpDownload(options: HttpDownloadOptions): Promise<HttpDownloadResult> {
  await mkdir(path.dirname(options.partial), { recursive: true });
  let wasResumed = false;
  for (let attempt = 1; ; attempt += 1) {
    const offset = await resumableBytes(options);
    try {
      const result = await downloadOnce(options, offset);
      return { sha256: result.sha256, wasResumed: wasResumed || result.wasResumed };
    } catch (error) {
      options.signal?.throwIfAborted();
      const grew = (await sizeOf(options.partial)) > offset;
      if (!(error instanceof BrokenOffError) || !grew || attempt >= ATTEMPTS) {
        throw error instanceof BrokenOffError ? downloadError(options.url, error.message, error) : error;
      }
      wasResumed = true;
    }
  }
}

/** Removes the files of an unfinished attempt. */
export async function discardPartial(partial: string): Promise<void> {
  await rm(partial, { force: true });
  await rm(etagFile(partial), { force: true });
}

/** The connection ended before the content did. */
class BrokenOffError extends Error {
  override readonly name = 'BrokenOffError';
}

async function downloadOnce(options: HttpDownloadOptions, offset: number): Promise<HttpDownloadResult> {
  const { response, sha256, stop } = await request(options, offset);
  try {
    const status = response.statusCode ?? 0;
    const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers['content-range'] ?? '');
    if (status === 416 && offset > 0) {
      const total = Number(/^bytes \*\/(\d+)$/.exec(response.headers['content-range'] ?? '')?.[1]);
      if (total === offset) return { sha256, wasResumed: true }; // the partial file is already whole
      await discardPartial(options.partial);
      throw downloadError(options.url, 'an earlier part was longer than the file; try again');
    }
    if (status !== 200 && status !== 206) throw downloadError(options.url, describeStatus(status));
    const isContinued = status === 206 && Number(range?.[1]) === offset;
    if (status === 206 && !isContinued)
      throw downloadError(options.url, 'the server sent a different part than requested');
    const start = isContinued ? offset : 0;
    const length = response.headers['content-length'];
    const total = length === undefined ? undefined : start + Number(length);
    await rememberEtag(options.partial, response.headers.etag);
    await writeBody(options, response, start, total, stop);
    return { sha256, wasResumed: isContinued && offset > 0 };
  } finally {
    stop();
  }
}

async function writeBody(
  options: HttpDownloadOptions,
  response: IncomingMessage,
  start: number,
  total: number | undefined,
  stop: () => void,
): Promise<void> {
  let bytes = start;
  options.onProgress?.(bytes, total);
  let stalled: NodeJS.Timeout | undefined;
  const awake = (): void => {
    clearTimeout(stalled);
    stalled = setTimeout(stop, STALL_MS);
  };
  const counted = async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of source) {
      awake();
      bytes += chunk.length;
      options.onProgress?.(bytes, total);
      yield chunk;
    }
  };
  awake();
  try {
    await pipeline(response, counted, createWriteStream(options.partial, { flags: start > 0 ? 'a' : 'w' }));
  } catch (error) {
    options.signal?.throwIfAborted();
    if (isFileError(error)) throw error;
    throw new BrokenOffError(`the connection broke off after ${bytes} bytes`, { cause: error });
  } finally {
    clearTimeout(stalled);
  }
  if (total !== undefined && bytes < total)
    throw new BrokenOffError(`the connection ended after ${bytes} of ${total} bytes`);
}

/** Returns whether the error comes from the disk and not from the connection. */
function isFileError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && /^(open|write|close)$/.test(String(error.syscall));
}

/**
 * Sends the request and follows redirects itself, because only the first host may get the token and only its answer has
 * the digest.
 */
async function request(options: HttpDownloadOptions, offset: number) {
  const headers: Record<string, string> = { 'accept-encoding': 'identity', 'user-agent': 'aana-host' };
  if (offset > 0) {
    headers.range = `bytes=${offset}-`;
    const etag = options.isPinned ? undefined : await knownEtag(options.partial);
    if (etag !== undefined) headers['if-range'] = etag;
  }
  const origin = new URL(options.url).origin;
  let url = options.url;
  let sha256: string | undefined;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const isOrigin = new URL(url).origin === origin;
    const sent = isOrigin && options.token ? { ...headers, authorization: `Bearer ${options.token}` } : headers;
    const { response, stop } = await answerWithin(
      url,
      sent,
      hop === 0 ? (options.answerTimeoutMs ?? 5_000) : HOP_TIMEOUT_MS,
      options,
    );
    sha256 ??= /^"?([0-9a-f]{64})"?$/.exec(String(response.headers['x-linked-etag'] ?? ''))?.[1];
    const status = response.statusCode ?? 0;
    const location = status >= 300 && status < 400 ? response.headers.location : undefined;
    if (location === undefined) return { response, sha256, stop };
    stop();
    url = new URL(location, url).href;
    if (!/^https?:/.test(url)) throw downloadError(options.url, `it redirects to ${url.split(':')[0]}:`);
  }
  throw downloadError(options.url, `more than ${MAX_REDIRECTS} redirects`);
}

/** Sends a GET request with a time limit for the head of the answer. `stop` also ends the body. */
export async function answerWithin(
  address: string,
  headers: Readonly<Record<string, string>>,
  timeoutMs: number,
  { network, signal }: Pick<HttpDownloadOptions, 'network' | 'signal'>,
) {
  signal?.throwIfAborted();
  const url = new URL(address);
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  const onAbort = (): void => controller.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(stop, timeoutMs);
  const release = (): void => {
    signal?.removeEventListener('abort', onAbort);
    stop();
  };
  try {
    const options = { network, idleTimeoutMs: STALL_MS, signal: controller.signal };
    const response = await send(
      { method: 'GET', url, headers: Object.entries(headers) },
      await connect(url, options),
      options,
    );
    return { response, stop: release };
  } catch (error) {
    const isLate = controller.signal.aborted;
    release();
    signal?.throwIfAborted();
    throw new UnreachableError(url.origin, isLate ? `no answer in ${timeoutMs / 1000} s` : reasonOf(error), error);
  } finally {
    clearTimeout(timer);
  }
}

async function resumableBytes({ partial, isPinned }: HttpDownloadOptions): Promise<number> {
  const bytes = await sizeOf(partial);
  return bytes > 0 && (isPinned || (await knownEtag(partial)) !== undefined) ? bytes : 0;
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.size ?? 0;
}

async function rememberEtag(partial: string, etag: string | undefined): Promise<void> {
  if (etag !== undefined && !etag.startsWith('W/')) await writeFile(etagFile(partial), etag);
  else await rm(etagFile(partial), { force: true });
}

async function knownEtag(partial: string): Promise<string | undefined> {
  return (await readFile(etagFile(partial), 'utf8').catch(() => '')) || undefined;
}

function etagFile(partial: string): string {
  return `${partial}.etag`;
}

export function describeStatus(status: number): string {
  if (status === 401 || status === 403)
    return `the server refuses access (${status}); set HF_TOKEN if it needs an account`;
  if (status === 404) return 'the server does not have it (404)';
  return `the server answers with status ${status}`;
}
