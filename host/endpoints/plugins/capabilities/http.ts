import { AanaError, fail } from '../../../base/core/errors.ts';
import type { HttpCalls, RequestBody } from '../../../../wit/generated/world/http.ts';
import { Base64Bytes } from '../sandbox/index.ts';
import { bytesOfBase64 } from './scope/base64.ts';
import { computingCost } from './scope/computing-cost.ts';
import type { CallsOf, CapabilityScope } from './scope/scope.ts';
import type { HttpOptions } from '../ports.ts';

/** The most bytes that a read returns at once, unless the guest asks for more. */
const pieceBytes = 256 * 1024;
/** The most bytes for which a read waits, and of the body of a request. */
const mostBytes = 8 * 1024 * 1024;
const mostBase64 = 4 * Math.ceil(mostBytes / 3);

/** Requests to granted hosts. */
export const httpCalls: CallsOf<keyof HttpCalls> = {
  'http.fetch': (scope, request) => scope.http.fetch(request, optionsOf(scope)),
  async 'http.send'(scope, head, body) {
    scope.requireRoom(); // before the request has an effect
    const exchange = await scope.http.open({ ...head, body: bytesOf(scope, body) }, optionsOf(scope)).catch(upstream);
    try {
      const handle = scope.keep({ kind: 'exchange', exchange, text: new TextDecoder() });
      return { handle, head: exchange.head };
    } catch (error) {
      exchange.body.close();
      throw error;
    }
  },
  async 'http.read'(scope, handle, least) {
    return new Base64Bytes(await readPiece(scope, handle, least));
  },
  async 'http.read-text'(scope, handle, least) {
    const { text } = scope.get(handle, 'exchange');
    for (;;) {
      const piece = await readPiece(scope, handle, least);
      const decoded = text.decode(piece, { stream: piece.length > 0 });
      if (decoded !== '' || piece.length === 0) return decoded;
    }
  },
};

/** Throws an error that is not one of the client, because the plugin has chosen the URL. */
function upstream(error: unknown): never {
  if (!(error instanceof AanaError) || error.name !== 'DownloadException') throw error;
  throw fail('UpstreamFailed', error.message, {
    data: { url: (error.data as { readonly url: string }).url },
    cause: error,
  });
}

const optionsOf = ({ granted, signal, context }: CapabilityScope): HttpOptions => ({
  refusalOf: (url) => granted.refusalOfUrl(url),
  isNamed: (url) => granted.isNamedHost(url),
  signal,
  traceparent: context.traceparent,
});

function bytesOf(scope: CapabilityScope, body: RequestBody | undefined): Uint8Array | undefined {
  if (body === undefined) return undefined;
  if (body.val.length > mostBase64)
    throw fail('InvalidRequest', `the body of a request has at most ${mostBytes} bytes`);
  const bytes = body.tag === 'text' ? Buffer.from(body.val) : bytesOfBase64(body.val, 'the body of a request');
  scope.charge(computingCost.piece(bytes.length));
  return bytes;
}

async function readPiece(scope: CapabilityScope, handle: number, least: number): Promise<Uint8Array> {
  if (least < 1 || least > mostBytes)
    throw fail('InvalidArguments', `a read waits for 1 to ${mostBytes} bytes, not for ${least}`);
  const { exchange } = scope.get(handle, 'exchange');
  let held = 0;
  try {
    const reading = exchange.body.read(least, Math.max(least, pieceBytes), (bytes) => {
      scope.held.take(bytes);
      held += bytes;
    });
    const piece = await reading.catch(upstream);
    scope.charge(computingCost.piece(piece.length));
    return piece;
  } finally {
    scope.held.give(held);
  }
}
