import { HostError } from '../host-error.ts';

const HEAD = /^data:image\/[\w.+-]+(?:;[\w.+-]+=[\w.+-]+)*;base64,/i;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const values = new Uint8Array(128).fill(255);
for (let n = 0; n < 64; n++) values[ALPHABET.charCodeAt(n)] = n;

/** Returns the bytes of an image in a data URL. Throws `InvalidDataUrl`. A guest has no function for base64. */
export function dataUrlBytes(text: string): Uint8Array {
  const url = text.replace(/\s+/g, ''); // encoders break lines
  const head = HEAD.exec(url.slice(0, 200))?.[0];
  if (head === undefined) throw invalid('it does not begin like data:image/png;base64,');
  const end = url.endsWith('==') ? url.length - 2 : url.endsWith('=') ? url.length - 1 : url.length;
  const bytes = new Uint8Array(Math.floor(((end - head.length) * 3) / 4));
  let held = 0;
  let bits = 0;
  let length = 0;
  for (let at = head.length; at < end; at++) {
    const value = values[url.charCodeAt(at)] ?? 255;
    if (value === 255) throw invalid(`the character ${at - head.length} is no base64`);
    held = ((held << 6) | value) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[length++] = held >> bits;
    }
  }
  return bytes;
}

const invalid = (reason: string): HostError =>
  new HostError('InvalidDataUrl', 'invalid-input', `this is no data URL of an image: ${reason}`);
