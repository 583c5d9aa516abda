/** Returns a UUID of version 4 from 16 random bytes. */
export function uuid(bytes: Uint8Array): string {
  const digits = [...bytes].map((byte, at) => {
    const value = at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte;
    return value.toString(16).padStart(2, '0');
  });
  return [digits.slice(0, 4), digits.slice(4, 6), digits.slice(6, 8), digits.slice(8, 10), digits.slice(10)]
    .map((group) => group.join(''))
    .join('-');
}
