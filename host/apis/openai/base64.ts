/** The beginning of a data URL with base64. */
const DATA_URL = /^\s*data:[^,;]{0,200}(?:;[^,;]{1,200}){0,8};base64,/i;
/** Characters in which {@link DATA_URL} is looked for. */
const MOST_HEAD = 2000;

/**
 * Returns the bytes of base64 as encoders write it: also with line breaks, in the alphabet of URLs, without padding,
 * and in a data URL. Undefined for a text that is none.
 */
export function base64Bytes(text: string): Buffer | undefined {
  const [head = ''] = DATA_URL.exec(text.slice(0, MOST_HEAD)) ?? [];
  const data = text.slice(head.length);
  return bytesOf(data) ?? bytesOf(data.replaceAll(/\s+/g, ''));
}

/** Returns the bytes of base64 without spaces. */
function bytesOf(data: string): Buffer | undefined {
  const bytes = Buffer.from(data, 'base64');
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  const length = data.length - padding;
  // Node skips what is no base64, so fewer bytes than expected come out. A pattern would take longer.
  return length % 4 !== 1 && bytes.length === Math.floor((length * 3) / 4) ? bytes : undefined;
}
