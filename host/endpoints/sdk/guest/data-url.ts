import { HostError } from '../host-error.ts';
import { fromBase64 } from './base64.ts';

const HEAD = /^data:image\/[\w.+-]+(?:;[\w.+-]+=[\w.+-]+)*;base64,$/i;

/** Returns the bytes of an image in a data URL. Throws `InvalidDataUrl`. */
export function dataUrlBytes(text: string): Uint8Array {
  const begin = text.slice(0, 400).indexOf(',') + 1;
  const head = text.slice(0, begin).replace(/\s+/g, ''); // encoders break lines
  if (!HEAD.test(head)) throw invalid('it does not begin like data:image/png;base64,');
  try {
    return fromBase64(text.slice(begin)); // which skips white space
  } catch (error) {
    throw invalid((error as Error).message);
  }
}

const invalid = (reason: string): HostError =>
  new HostError('InvalidDataUrl', 'invalid-input', `this is no data URL of an image: ${reason}`);
