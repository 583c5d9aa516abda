import { fail } from '../../base/core/errors.ts';
import { BYTES_ANSWER } from '../../base/schemas/index.ts';
import { type Answering, mediaTypesOf } from './answers.ts';

/** The head of an answer that is bytes. */
export interface AnswerHead {
  readonly mediaType: string;
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Takes an answer that is bytes. */
export interface AnswerSink {
  begin(head: AnswerHead): void;
  /** Resolves when there is room for more. */
  send(bytes: Uint8Array): Promise<void>;
}

/** A whole answer that is bytes. */
export interface BytesAnswer extends AnswerHead {
  readonly bytes: Buffer;
}

/** Any class of media types, without parameters. Clients would take `multipart/…` apart. */
const MEDIA_TYPE = /^(?:application|audio|font|image|model|text|video)\/[a-z0-9][a-z0-9!#$&^_.+-]{0,99}$/;
/**
 * Headers that tell a client how to keep and name the bytes. Others would change the connection, the security of the
 * page, or what a proxy in front of the host does.
 */
const HEADERS: ReadonlySet<string> = new Set([
  ...['cache-control', 'content-disposition', 'content-language', 'etag', 'expires', 'last-modified', 'retry-after'],
]);
const VALUE = /^[\x20-\x7e]*$/;
/** Characters of all headers with their values. Proxies and clients refuse heads of more than about 8 KiB. */
const MOST_HEADER_CHARS = 4096;
/**
 * Statuses of answers without a body or with a part of one, and those with which HTTP, a proxy or the host say
 * something.
 */
const NOT_OF_ENDPOINTS: ReadonlySet<number> = new Set([204, 205, 206, 407, 408, 421, 425, 426, 431, 499]);
/** Redirects would lead to addresses that the plugin chooses. */
const isStatus = (status: number): boolean =>
  Number.isInteger(status) &&
  ((status >= 200 && status < 300) || (status >= 400 && status < 600)) &&
  !NOT_OF_ENDPOINTS.has(status);
/** Bytes of an answer that is kept whole, for the result of a task or a tool. */
const MOST_KEPT = 16 * 1024 * 1024;

/**
 * Returns the media types in which an endpoint may answer with bytes. Streamed values are always JSON. Throws
 * `EndpointError` if the schema names something that is no media type.
 */
export function bytesTypesOf(endpoint: Answering): readonly string[] {
  return mediaTypesOf(endpoint, { marker: BYTES_ANSWER, member: 'base64', mediaType: MEDIA_TYPE, what: 'bytes' });
}

/**
 * Returns the bytes of an output in JSON that is such an answer. Throws `OutputError` for a head that is not allowed.
 */
export function bytesAnswerOf(endpoint: Answering, json: string): BytesAnswer | undefined {
  const types = bytesTypesOf(endpoint);
  if (types.length === 0 || !/^\s*\{\s*"(?:media_type|base64|status|headers)"/.test(json)) return undefined;
  const output = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const { media_type: mediaType, base64, status = 200, headers = {}, ...rest } = output;
  if (typeof mediaType !== 'string' || typeof base64 !== 'string' || Object.keys(rest).length > 0) return undefined;
  if (!types.includes(mediaType) || typeof headers !== 'object' || headers === null) return undefined;
  const head = { mediaType, status: status as number, headers: Object.entries(headers as Record<string, string>) };
  checkHead(endpoint, head);
  return { ...head, bytes: Buffer.from(base64, 'base64') };
}

/**
 * The answer of one run that may be bytes. It checks the head, and passes the bytes on to `sink`; without a sink, it
 * keeps them.
 */
export class CheckedAnswer implements AnswerSink {
  readonly #endpoint: Answering;
  readonly #sink: AnswerSink | undefined;
  #head: AnswerHead | undefined;
  readonly #kept: Uint8Array[] = [];
  #keptBytes = 0;

  constructor(endpoint: Answering, sink: AnswerSink | undefined) {
    this.#endpoint = endpoint;
    this.#sink = sink;
  }

  begin(head: AnswerHead): void {
    const { name } = this.#endpoint;
    if (this.#head) throw fail('OutputError', `endpoint ${name}: it begins its answer twice`);
    if (!bytesTypesOf(this.#endpoint).includes(head.mediaType))
      throw fail(
        'OutputError',
        `endpoint ${name}: its output has no answer that is bytes of the media type ${JSON.stringify(head.mediaType)}`,
      );
    checkHead(this.#endpoint, head);
    this.#sink?.begin(head);
    this.#head = head;
  }

  async send(bytes: Uint8Array): Promise<void> {
    if (!this.#head) throw fail('OutputError', `endpoint ${this.#endpoint.name}: it sends bytes before it has begun`);
    if (this.#sink) return this.#sink.send(bytes);
    this.#keptBytes += bytes.length;
    if (this.#keptBytes > MOST_KEPT)
      throw fail('OutputTooLarge', `an answer of bytes that is kept is over the limit of ${MOST_KEPT} bytes`, {
        data: { limit: MOST_KEPT },
      });
    this.#kept.push(bytes);
  }

  /** The output in JSON, if the run has begun such an answer. `null` stands for one that the sink has. */
  get output(): string | undefined {
    if (!this.#head) return undefined;
    if (this.#sink) return 'null';
    const { mediaType, status, headers } = this.#head;
    return JSON.stringify({
      media_type: mediaType,
      base64: Buffer.concat(this.#kept).toString('base64'),
      ...(status !== 200 && { status }),
      ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
    });
  }
}

function checkHead({ name }: Answering, { status, headers }: AnswerHead): void {
  if (!isStatus(status)) throw fail('OutputError', `endpoint ${name}: its answer cannot have the status ${status}`);
  const names = new Set<string>();
  let chars = 0;
  for (const [header, value] of headers) {
    if (!HEADERS.has(header))
      throw fail(
        'OutputError',
        `endpoint ${name}: its answer cannot have the header ${JSON.stringify(header).slice(0, 64)}; it can have ` +
          `${[...HEADERS].join(', ')}, in lower case`,
      );
    if (names.has(header)) throw fail('OutputError', `endpoint ${name}: its answer has two headers ${header}`);
    names.add(header);
    if (typeof value !== 'string' || !VALUE.test(value))
      throw fail('OutputError', `endpoint ${name}: the header ${header} of its answer is no line of ASCII`);
    chars += header.length + value.length;
    if (chars > MOST_HEADER_CHARS)
      throw fail(
        'OutputError',
        `endpoint ${name}: the headers of its answer have more than ${MOST_HEADER_CHARS} characters in all`,
      );
  }
}
