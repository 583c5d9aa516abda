/** What `Request` and `Response` have in common: a body that is read once (Fetch standard, 5.3). */
import { joinedBytes } from '../../bytes.ts';
import { decodeUtf8, encodeUtf8 } from '../../utf8.ts';
import { Blob, streamOf, viewOf, withoutMark } from './blob.ts';
import { encodedForm, FormData } from './form-data.ts';
import type { Headers } from './headers.ts';
import { mediaTypeText, parseMediaType } from './media-type.ts';
import { parsedForm } from './parse-form.ts';
import { ReadableStream } from './streams.ts';

/** The body of an answer of the host. It is read as text or as bytes with one call each, or as a stream. */
export interface RemoteBody {
  text<T>(then: (text: string) => T): Promise<T>;
  bytes<T>(then: (bytes: Uint8Array) => T): Promise<T>;
  stream(): ReadableStream<Uint8Array>;
}

export type BodyInit =
  | string
  | ArrayBuffer
  | ArrayBufferView
  | Blob
  | FormData
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | URLSearchParamsLike;

interface URLSearchParamsLike {
  readonly [Symbol.toStringTag]: 'URLSearchParams';
}

/** Text or bytes that are there, or what must be read. */
type Content =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'remote'; readonly remote: RemoteBody }
  | { readonly kind: 'stream'; readonly stream: ReadableStream<Uint8Array> };

export abstract class Body {
  abstract readonly headers: Headers;
  #content: Content | undefined;
  #isUsed = false;

  /** Takes the body, and sets `content-type` where the headers have none. */
  protected setBody(init: BodyInit | RemoteBodyInit | null | undefined): void {
    if (init === null || init === undefined) return;
    const { content, type } = contentOf(init);
    this.#content = content;
    if (type !== undefined && !this.headers.has('content-type')) this.headers.set('content-type', type);
  }

  /** The body as a stream. Null when there is none. */
  get body(): ReadableStream<Uint8Array> | null {
    const content = this.#content;
    if (!content) return null;
    if (content.kind === 'stream') return content.stream;
    const stream =
      content.kind === 'remote'
        ? content.remote.stream()
        : streamOf(content.kind === 'text' ? encodeUtf8(content.text) : content.bytes);
    this.#content = { kind: 'stream', stream };
    return stream;
  }

  /** Whether something has read the body. */
  get bodyUsed(): boolean {
    return this.#isUsed || (this.#content?.kind === 'stream' && isDisturbed(this.#content.stream));
  }

  text(): Promise<string> {
    return this.#read(
      (text) => text,
      (bytes) => withoutMark(decodeUtf8(bytes)),
    );
  }

  json(): Promise<unknown> {
    return this.#read(
      (text) => JSON.parse(text) as unknown,
      (bytes) => JSON.parse(withoutMark(decodeUtf8(bytes))) as unknown,
    );
  }

  bytes(): Promise<Uint8Array> {
    return this.#read(undefined, (bytes) => bytes);
  }

  arrayBuffer(): Promise<ArrayBuffer> {
    return this.#read(undefined, ({ buffer, byteOffset, byteLength }) =>
      byteLength === buffer.byteLength
        ? (buffer as ArrayBuffer)
        : (buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer),
    );
  }

  blob(): Promise<Blob> {
    const type = parseMediaType(this.headers.get('content-type') ?? '');
    return this.#read(undefined, (bytes) => new Blob([bytes], type ? { type: mediaTypeText(type) } : {}));
  }

  /** Reads a form of the type `multipart/form-data` or `application/x-www-form-urlencoded`. */
  formData(): Promise<FormData> {
    const type = this.headers.get('content-type') ?? '';
    return this.#read(undefined, (bytes) => parsedForm(bytes, type));
  }

  /** @internal Returns the body for a request: at once if it is there, otherwise when its stream was read. */
  static taken(
    body: Body,
  ): { readonly text: string } | { readonly bytes: Uint8Array | Promise<Uint8Array> } | undefined {
    const content = body.#content;
    if (!content) return undefined;
    if (content.kind === 'remote' || content.kind === 'stream') return { bytes: body.bytes() };
    body.#isUsed = true;
    return content;
  }

  protected get hasBody(): boolean {
    return this.#content !== undefined;
  }

  /** Takes the body of another one, which has then been used. */
  protected moveBody(from: Body): void {
    if (!from.#content) return;
    from.#requireUnread();
    this.#content = from.#content;
    from.#isUsed = true;
  }

  /** Returns what a copy of this has as its body. */
  protected copiedBody(): BodyInit | null {
    this.#requireUnread();
    const content = this.#content;
    if (!content) return null;
    if (content.kind === 'text') return content.text;
    if (content.kind === 'bytes') return content.bytes;
    const [mine, other] = this.body!.tee();
    this.#content = { kind: 'stream', stream: mine as ReadableStream<Uint8Array> };
    return other as ReadableStream<Uint8Array>;
  }

  #requireUnread(): void {
    if (this.bodyUsed || (this.#content?.kind === 'stream' && this.#content.stream.locked))
      throw new TypeError('the body was read before, or is being read');
  }

  #read<T>(ofText: ((text: string) => T) | undefined, ofBytes: (bytes: Uint8Array) => T): Promise<T> {
    const content = this.#content;
    try {
      this.#requireUnread();
    } catch (error) {
      return Promise.reject(error);
    }
    if (content) this.#isUsed = true;
    switch (content?.kind) {
      case 'remote':
        return ofText ? content.remote.text(ofText) : content.remote.bytes(ofBytes);
      case 'stream':
        return wholeOf(content.stream).then(ofBytes);
      default:
        return settledWith(() => {
          if (content?.kind === 'bytes') return ofBytes(content.bytes.slice());
          const text = content?.text ?? '';
          return ofText ? ofText(withoutMark(text)) : ofBytes(encodeUtf8(text));
        });
    }
  }
}

/** Says that a body comes from the host. */
export class RemoteBodyInit {
  readonly remote: RemoteBody;

  constructor(remote: RemoteBody) {
    this.remote = remote;
  }
}

/** The reference implementation has the standard's slot under this name. */
const isDisturbed = (stream: object): boolean => (stream as { readonly _disturbed: boolean })._disturbed;

function contentOf(init: BodyInit | RemoteBodyInit): { readonly content: Content; readonly type?: string } {
  if (init instanceof RemoteBodyInit) return { content: { kind: 'remote', remote: init.remote } };
  if (init instanceof ReadableStream) {
    if (init.locked || isDisturbed(init)) throw new TypeError('the stream was read before, or is being read');
    return { content: { kind: 'stream', stream: init } };
  }
  if (init instanceof Blob) {
    const content: Content = { kind: 'bytes', bytes: Blob.bytesOf(init) };
    return init.type === '' ? { content } : { content, type: init.type };
  }
  if (init instanceof FormData) {
    const { bytes, type } = encodedForm(init);
    return { content: { kind: 'bytes', bytes }, type };
  }
  if (init instanceof ArrayBuffer || ArrayBuffer.isView(init))
    return { content: { kind: 'bytes', bytes: viewOf(init).slice() } };
  if (typeof init === 'object' && Symbol.asyncIterator in init)
    return { content: { kind: 'stream', stream: ReadableStream.from(init) as ReadableStream<Uint8Array> } };
  const isForm = Object.prototype.toString.call(init) === '[object URLSearchParams]';
  const type = `${isForm ? 'application/x-www-form-urlencoded' : 'text/plain'};charset=UTF-8`;
  return { content: { kind: 'text', text: String(init) }, type };
}

async function wholeOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stream as unknown as AsyncIterable<Uint8Array>) {
    if (!ArrayBuffer.isView(piece)) throw new TypeError('the stream of a body has something that is no Uint8Array');
    pieces.push(viewOf(piece));
  }
  return joinedBytes(pieces);
}

function settledWith<T>(call: () => T): Promise<T> {
  try {
    return Promise.resolve(call());
  } catch (error) {
    return Promise.reject(error);
  }
}
