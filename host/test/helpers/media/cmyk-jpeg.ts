/** Parts of cyan, magenta, yellow and black, from 0 to 255. */
export type Ink = readonly [cyan: number, magenta: number, yellow: number, black: number];

/**
 * How a JPEG stores inks: as they are, or inverted with the mark of Adobe's programs (`adobe`), of which three may be
 * brightness and colours (`ycck`).
 */
export type InkForm = 'plain' | 'adobe' | 'ycck';

const SIDE = 8;

/** Returns a JPEG with a square of 8 × 8 pixels of each ink, from left to right. ffmpeg writes no such files. */
export function cmykJpeg(inks: readonly Ink[], form: InkForm): Buffer {
  const segment = (marker: number, ...bytes: readonly number[]): number[] => [
    ...[0xff, marker, (bytes.length + 2) >> 8, (bytes.length + 2) & 255],
    ...bytes,
  ];
  const width = SIDE * inks.length;
  const each = (make: (component: number) => readonly number[]): number[] => [1, 2, 3, 4].flatMap(make);
  const adobe = [...Buffer.from('Adobe'), 0, 100, 0, 0, 0, 0, form === 'ycck' ? 2 : 0];
  return Buffer.from([
    ...[0xff, 0xd8],
    ...(form === 'plain' ? [] : segment(0xee, ...adobe)),
    ...segment(0xdb, 0, ...Array<number>(64).fill(1)),
    ...segment(0xc0, 8, 0, SIDE, width >> 8, width & 255, 4, ...each((component) => [component, 0x11, 0])),
    // Differences of squares have one of twelve lengths, each with a code of four bits. Squares have nothing else.
    ...segment(0xc4, 0x00, ...lengths(4, 12), ...Array.from({ length: 12 }, (_, length) => length)),
    ...segment(0xc4, 0x10, ...lengths(1, 1), 0),
    ...segment(0xda, 4, ...each((component) => [component, 0]), 0, 63, 0),
    ...stuffed(inks.map((ink) => stored(ink, form))),
    ...[0xff, 0xd9],
  ]);
}

/** How many codes have each length of bits: `count` have `bits`. */
const lengths = (bits: number, count: number): number[] =>
  Array.from({ length: 16 }, (_, at) => (at + 1 === bits ? count : 0));

function stored(ink: Ink, form: InkForm): readonly number[] {
  if (form === 'plain') return ink;
  const [cyan, magenta, yellow, key] = ink;
  if (form === 'adobe') return ink.map((part) => 255 - part);
  // The inverted inks are inverted once more before they become brightness and colours.
  const brightness = 0.299 * cyan + 0.587 * magenta + 0.114 * yellow;
  const colours = [128 + (yellow - brightness) / 1.772, 128 + (cyan - brightness) / 1.402];
  return [brightness, ...colours, 255 - key].map(Math.round);
}

/** Returns the bits of squares as bytes. A byte of ones is followed by zeros, because it would be a marker. */
function stuffed(squares: readonly (readonly number[])[]): number[] {
  const last = [0, 0, 0, 0];
  let bits = '';
  for (const square of squares)
    for (const [component, value] of square.entries()) {
      const level = SIDE * (value - 128);
      const difference = level - last[component]!;
      last[component] = level;
      const length = difference === 0 ? 0 : Math.floor(Math.log2(Math.abs(difference))) + 1;
      const rest = difference < 0 ? difference + 2 ** length - 1 : difference;
      bits += length.toString(2).padStart(4, '0') + (length > 0 ? rest.toString(2).padStart(length, '0') : '') + '0';
    }
  const bytes = (bits + '1'.repeat(7)).match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2));
  return bytes.flatMap((byte) => (byte === 0xff ? [byte, 0] : [byte]));
}
