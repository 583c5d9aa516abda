import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Context } from 'koa';

const ENCODINGS = {
  // The best quality, 11, takes many times longer and saves a tenth.
  br: (body: Buffer) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (body: Buffer) => promisify(gzip)(body),
} as const satisfies Readonly<Record<string, (body: Buffer) => Promise<Buffer>>>;
type Encoding = keyof typeof ENCODINGS;

/** Bodies that are smaller are sent as they are. */
const LEAST_BYTES = 1024;
const TEXT = /^(text\/|application\/(json|javascript)\b)/;

/** What was made of each body, while the body is kept. */
const made = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>();

/** Returns the best encoding of a body that the client accepts; undefined for the body as it is. */
export function encodingFor(ctx: Context, body: Buffer): Encoding | undefined {
  if (body.length < LEAST_BYTES || !TEXT.test(ctx.response.type)) return undefined;
  ctx.vary('Accept-Encoding');
  return (['br', 'gzip'] as const).find((encoding) => ctx.acceptsEncodings(encoding) === encoding);
}

/** Returns a body in an encoding. It is encoded once, outside of the main thread. */
export async function encoded(body: Buffer, encoding: Encoding): Promise<Buffer> {
  const forms = made.get(body) ?? new Map<Encoding, Promise<Buffer>>();
  made.set(body, forms);
  const known = forms.get(encoding);
  if (known) return known;
  const making = ENCODINGS[encoding](body);
  forms.set(encoding, making);
  making.catch(() => forms.delete(encoding)); // the next request tries again
  return making;
}
