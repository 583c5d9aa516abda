/** `fetch` (Fetch standard, 5.6), in components whose code names it. The host sends the request and checks its host. */
import { Exchange } from 'aana:host/http@0.1.0';
import type { Exchange as HostExchange, RequestBody } from '../../../../../../wit/generated/world/http.ts';
import { HostError } from '../../../host-error.ts';
import { fromBase64, toBase64 } from '../../base64.ts';
import { joinedBytes } from '../../bytes.ts';
import { giveUp, hostPromise } from '../../event-loop.ts';
import type { AbortSignal } from '../abort.ts';
import { mustRun } from '../../running.ts';
import { Body, type RemoteBody, RemoteBodyInit } from './body.ts';
import { contentOf } from './data-url.ts';
import { Request, type RequestInit, type RequestInput } from './request.ts';
import { Response, WITHOUT_BODY } from './response.ts';
import { ReadableStream } from './streams.ts';

/** The most bytes that the host returns with one call. */
const mostBytes = 8 * 1024 * 1024;
/** Headers of the connection, which belong to the host. Browsers leave out what a caller sets, too. */
const OF_CONNECTION =
  /^(accept-encoding|connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Sends a request to a host that `plugin.json` names and the operator grants. Rejects with a `TypeError` whose cause is
 * the `HostError`, or with the reason of the signal.
 */
export function fetch(input: RequestInput, init?: RequestInit | null): Promise<Response> {
  mustRun('fetch');
  try {
    const request = new Request(input, init);
    request.signal.throwIfAborted();
    if (request.url.startsWith('data:')) return Promise.resolve(heldBy(request));
    if (request.url.startsWith('blob:')) throw new TypeError('a plugin has no blob: URLs: read the Blob itself');
    const content = Body.taken(request);
    if (!content) return send(request, undefined);
    if ('text' in content) return send(request, { tag: 'text', val: content.text });
    const { bytes } = content;
    if (bytes instanceof Uint8Array) return send(request, { tag: 'bytes', val: toBase64(bytes) });
    return bytes.then((all) => send(request, { tag: 'bytes', val: toBase64(all) }));
  } catch (error) {
    return Promise.reject(error);
  }
}

function heldBy({ url, method }: Request): Response {
  const { type, bytes } = contentOf(url);
  return Response.received(
    { status: 200, statusText: 'OK', headers: { 'content-type': type } },
    { url: url.replace(/#.*/s, ''), isRedirected: false, body: method === 'HEAD' ? null : bytes },
  );
}

function send(request: Request, body: RequestBody | undefined): Promise<Response> {
  const { url, method, redirect, signal } = request;
  const headers = [...request.headers].filter(([name]) => !OF_CONNECTION.test(name));
  const head = { method, url, headers, followRedirects: redirect === 'follow' };
  releaseForgotten();
  const promise: Promise<Response> = hostPromise(
    () => Exchange.send(head, body) as unknown as HostExchange,
    (exchange) => {
      forget();
      const { status, statusText, headers: fields, url: last, redirected: isRedirected } = exchange.head();
      const remote = new ExchangeBody(exchange, signal);
      if (redirect === 'error' && REDIRECTS.has(status)) {
        remote.close();
        throw new TypeError(`fetch failed: ${url} redirects, and the request has redirect: 'error'`);
      }
      const hasBody = method !== 'HEAD' && !WITHOUT_BODY.has(status);
      if (!hasBody) remote.close();
      return Response.received(
        { status, statusText, headers: fields },
        { url: last.replace(/#.*/s, ''), isRedirected, body: hasBody ? new RemoteBodyInit(remote) : null },
      );
    },
    (error) => {
      forget();
      return signal.aborted ? signal.reason : failed(error);
    },
  );
  const forget = onAbort(signal, () => giveUp(promise, signal.reason));
  return promise;
}

/** Answers that the host holds, with their bodies. */
const held = new Map<HostExchange, WeakRef<ExchangeBody>>();

/** Gives back the answers whose bodies nobody has any more. */
function releaseForgotten(): void {
  for (const [exchange, body] of held) if (!body.deref()) release(exchange);
}

/** Gives an answer back to the host, which closes its connection. */
function release(exchange: HostExchange): void {
  if (held.delete(exchange)) exchange[Symbol.dispose]();
}

/** The body of an answer, which the host holds. */
class ExchangeBody implements RemoteBody {
  readonly #exchange: HostExchange;
  /** Takes its listener from the signal, which may live longer. */
  readonly #forget: () => void;
  #reason: { readonly reason: unknown } | undefined;
  #reading: Promise<unknown> | undefined;
  #controller: { error(reason: unknown): void } | undefined;

  constructor(exchange: HostExchange, signal: AbortSignal) {
    this.#exchange = exchange;
    const self = new WeakRef(this); // a signal that lives longer does not keep the body
    held.set(exchange, self);
    this.#forget = onAbort(signal, () => {
      const kept = self.deref();
      if (kept) kept.#abort(signal.reason);
    });
  }

  text<T>(then: (text: string) => T): Promise<T> {
    // A text that may have been cut has at least a third as many code units as the host returns bytes.
    const isCut = (piece: string): boolean => piece.length >= mostBytes / 3 - 2;
    return this.#whole(
      () => this.#exchange.readText(mostBytes),
      isCut,
      (pieces) => then(pieces.join('')),
    );
  }

  bytes<T>(then: (bytes: Uint8Array) => T): Promise<T> {
    const isCut = ({ length }: string): boolean => length >= (mostBytes / 3) * 4;
    return this.#whole(
      () => this.#exchange.read(mostBytes),
      isCut,
      (pieces) =>
        then(pieces.length === 1 ? fromBase64(pieces[0]!) : joinedBytes(pieces.map((piece) => fromBase64(piece)))),
    );
  }

  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream(
      {
        type: 'bytes',
        start: (controller) => void (this.#controller = controller),
        pull: async (controller) => {
          const base64 = await this.#read(
            () => this.#exchange.read(1),
            (piece) => piece,
          );
          if (base64 !== '') return controller.enqueue(fromBase64(base64));
          this.close();
          controller.close();
          controller.byobRequest?.respond(0);
        },
        cancel: () => this.close(),
      },
      { highWaterMark: 0 },
    );
  }

  close(): void {
    this.#forget();
    release(this.#exchange);
  }

  /** Reads all, with one call if the body is not larger than what the host returns at once. */
  #whole<T>(read: () => string, isCut: (piece: string) => boolean, then: (pieces: string[]) => T): Promise<T> {
    const pieces: string[] = [];
    const take = (piece: string): T | Promise<T> => {
      if (piece !== '' || pieces.length === 0) pieces.push(piece);
      if (isCut(piece)) return this.#read(read, take) as Promise<T>;
      this.close();
      return then(pieces);
    };
    return this.#read(read, take) as Promise<T>;
  }

  #read<T>(read: () => string, then: (piece: string) => T): Promise<T> {
    if (this.#reason) return Promise.reject(this.#reason.reason);
    const reading = hostPromise(read, then, (error) => {
      this.close();
      return failed(error);
    });
    this.#reading = reading;
    return reading;
  }

  #abort(reason: unknown): void {
    if (!held.has(this.#exchange)) return;
    this.#reason = { reason };
    if (this.#reading) giveUp(this.#reading, reason);
    this.#controller?.error(reason);
    this.close();
  }
}

/** Returns a function that forgets the call. */
function onAbort(signal: AbortSignal, call: () => void): () => void {
  signal.addEventListener('abort', call, { once: true });
  return () => signal.removeEventListener('abort', call);
}

/** Returns what the web throws for a request that fails. The host says why. */
const failed = (error: unknown): unknown =>
  error instanceof HostError ? new TypeError(`fetch failed: ${error.message}`, { cause: error }) : error;
