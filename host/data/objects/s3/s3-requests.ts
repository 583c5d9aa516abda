import { AwsV4Signer } from 'aws4fetch';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { delay } from '../../../base/core/abort.ts';
import { AanaError, fail } from '../../../base/core/errors.ts';
import { KeptConnections, type Network, readUpTo, reasonOf } from '../../../io/outgoing/index.ts';
import { textsIn } from './xml-texts.ts';

export interface S3Settings {
  readonly bucket: string;
  /** Before all keys, without `/` at its ends; may be empty. */
  readonly prefix: string;
  /** The address of a server with S3's API. Undefined for AWS. */
  readonly endpoint: URL | undefined;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
  /** Longest silence of the server, and time after a first failure in which a request is repeated. Milliseconds. */
  readonly timeoutMs: number;
  readonly network: Network;
}

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Undefined for the bucket. */
  readonly key?: string | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Buffer | undefined;
}

export interface ExchangeOptions {
  readonly signal?: AbortSignal | undefined;
  /** Returns how much of the answers was read so far. */
  readonly progress?: (() => number) | undefined;
}

/** An answer that says that a request cannot succeed. */
export class S3Refusal extends Error {
  override readonly name = 'S3Refusal';

  readonly status: number;
  /** Of S3, such as `NoSuchKey`; empty if the answer has none. */
  readonly code: string;

  constructor(status: number, code: string, message = `it answers with status ${status}${adviceOn(code)}`) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** A failure after which the request is repeated. */
class PassingFault extends Error {
  override readonly name = 'PassingFault';
}

const ATTEMPTS = 4;
const FIRST_WAIT_MS = 100;
/** Longest answer that is read as XML: a thousand keys of a listing, each with its owner. */
const MAX_XML_BYTES = 4 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;
const PASSING_CODES: ReadonlySet<string> = new Set([
  'InternalError',
  'RequestTimeout',
  'ServiceUnavailable',
  'SlowDown',
]);
const NO_BYTES = Buffer.alloc(0);

/** Signed requests to a bucket. A request that failed for a passing reason is repeated. */
export class S3Requests {
  /** Names the bucket in messages. */
  readonly address: string;
  readonly #settings: S3Settings;
  readonly #base: string;
  readonly #connections: KeptConnections;

  constructor(settings: S3Settings) {
    const { bucket, prefix, endpoint, region } = settings;
    this.#settings = settings;
    this.address = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
    // AWS knows a bucket by its name before the host, where its certificate allows one part; other servers know it by
    // the path, as few have a name for each bucket.
    const isInPath = endpoint !== undefined || bucket.includes('.');
    const server = endpoint?.href ?? `https://${isInPath ? '' : `${bucket}.`}s3.${region}.amazonaws.com`;
    this.#base = `${server.replace(/\/$/, '')}${isInPath ? `/${bucket}` : ''}`;
    const { network, timeoutMs } = settings;
    this.#connections = new KeptConnections({ url: new URL(this.#base), network, idleTimeoutMs: timeoutMs });
  }

  /**
   * Sends a request, and reads the answer with `read`, which may throw the errors of {@link bodyOf} and is then called
   * again with the answer to another request. When the `progress` of a request has grown,
   * the count of its tries begins again. Throws `ObjectStoreUnavailable`, {@link S3Refusal}, or what `read` throws.
   */
  async exchange<T>(
    request: () => S3Request,
    read: (answer: IncomingMessage) => Promise<T>,
    { signal = new AbortController().signal, progress = () => 0 }: ExchangeOptions = {},
  ): Promise<T> {
    for (let failures = 0, reached = progress(), until = 0; ;)
      try {
        const answer = await this.#sent(request(), signal);
        try {
          await requireSuccess(answer);
          const result = await read(answer);
          // To the end, so that the connection is kept.
          if (!answer.readableEnded) await xmlOf(answer, MAX_ERROR_BYTES).catch(() => {});
          return result;
        } finally {
          answer.destroy();
        }
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof PassingFault)) throw error;
        if (progress() > reached) [reached, failures] = [progress(), 0];
        if (failures === 0) until = performance.now() + this.#settings.timeoutMs;
        failures += 1;
        const waitMs = FIRST_WAIT_MS * 2 ** (failures - 1) * (0.5 + Math.random() / 2);
        if (failures === ATTEMPTS || performance.now() + waitMs > until) throw this.unavailable(error);
        await delay(waitMs, signal);
      }
  }

  /** Sends a request whose answer is XML. Returns the texts of the elements with these names. */
  async ask<Name extends string>(
    request: S3Request,
    names: readonly Name[],
    signal?: AbortSignal,
  ): Promise<Readonly<Record<Name, readonly string[]>>> {
    const read = async (answer: IncomingMessage): Promise<Record<Name, readonly string[]>> => {
      const texts = textsIn(await xmlOf(answer, MAX_XML_BYTES), ['Code', ...names]);
      // The status may be sent before the outcome is known, so an error may come with 200.
      if (texts.Code[0] !== undefined) throw refusalOf(answer.statusCode ?? 0, texts.Code[0]);
      return texts;
    };
    return this.exchange(() => request, read, { signal });
  }

  /** Closes the connections that are kept between requests. */
  close(): void {
    this.#connections.close();
  }

  /** Returns the error of a store that is away, or that refuses a request that it should take. */
  unavailable(cause: unknown): AanaError {
    if (cause instanceof AanaError) return cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    return fail('ObjectStoreUnavailable', `the object store ${this.address} cannot be used: ${reason}`, {
      data: { store: this.address },
      cause,
    });
  }

  async #sent(
    { method, key, query = {}, headers = {}, body }: S3Request,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { region, accessKeyId, secretAccessKey, sessionToken, prefix } = this.#settings;
    const { url, headers: signed } = await new AwsV4Signer({
      ...{ method, service: 's3', region, accessKeyId, secretAccessKey },
      ...(sessionToken !== undefined && { sessionToken }),
      url: this.#urlOf(key === undefined ? '' : prefix === '' ? key : `${prefix}/${key}`, query),
      headers: {
        ...headers,
        'x-amz-content-sha256': createHash('sha256')
          .update(body ?? NO_BYTES)
          .digest('hex'),
      },
    }).sign();
    const needsLength = method === 'PUT' || method === 'POST';
    try {
      return await this.#connections.send(
        { method, url, headers: [...signed], body: body ?? (needsLength ? NO_BYTES : undefined) },
        signal,
      );
    } catch (error) {
      throw new PassingFault(reasonOf(error), { cause: error });
    }
  }

  #urlOf(key: string, query: Readonly<Record<string, string>>): string {
    const url = new URL(`${this.#base}/${key}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url.href;
  }
}

/** Returns the bytes of an answer. A connection that breaks off is a passing fault. */
export async function* bodyOf(answer: IncomingMessage): AsyncGenerator<Buffer, void> {
  const chunks = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  for (;;) {
    const next = await chunks.next().catch((error: unknown) => {
      throw new PassingFault(reasonOf(error), { cause: error });
    });
    if (next.done === true) return;
    yield next.value;
  }
}

async function xmlOf(answer: IncomingMessage, maxBytes: number): Promise<string> {
  const tooLong = (why: string): Error => new S3Refusal(answer.statusCode ?? 0, '', `its answer ${why}`);
  return (await readUpTo(maxBytes, bodyOf(answer), tooLong)).toString('utf8');
}

async function requireSuccess(answer: IncomingMessage): Promise<void> {
  const status = answer.statusCode ?? 0;
  if (status >= 200 && status < 300) return;
  const texts = textsIn(await xmlOf(answer, MAX_ERROR_BYTES).catch(() => ''), ['Code']);
  throw refusalOf(status, texts.Code[0] ?? '');
}

/** Returns the error of an answer without success. */
function refusalOf(status: number, code: string): Error {
  const refusal = new S3Refusal(status, /^\w{1,64}$/.test(code) ? code : '');
  const isPassing = status === 429 || (status >= 500 && status !== 501 && status !== 507) || PASSING_CODES.has(code);
  return isPassing ? new PassingFault(refusal.message, { cause: refusal }) : refusal;
}

function adviceOn(code: string): string {
  const advice: Readonly<Record<string, string>> = {
    NoSuchBucket: 'create the bucket',
    PermanentRedirect: 'set object_store.region to the region of the bucket',
    AuthorizationHeaderMalformed: 'set object_store.region to the region of the bucket',
    InvalidAccessKeyId: 'see object_store.access_key_id',
    SignatureDoesNotMatch: 'see object_store.secret_access_key',
    ExpiredToken: 'see object_store.session_token',
    AccessDenied: 'allow the key to read, write, delete and list',
    RequestTimeTooSkewed: 'set the clock of this machine',
  };
  if (code === '') return '';
  return advice[code] === undefined ? ` (${code})` : ` (${code}); ${advice[code]}`;
}
