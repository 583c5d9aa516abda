import { jpegSegments } from './jpeg-segments.ts';

/**
 * Returns how the beginning of the file of a JPEG says that the picture is turned: 1 for not at all, to 8, as Exif
 * numbers it. ffmpeg reads it only in its newer versions.
 */
export function exifOrientation(jpeg: Buffer): number {
  for (const { marker, data } of jpegSegments(jpeg))
    if (marker === 0xe1 && data.toString('latin1', 0, 6) === 'Exif\0\0') return orientationOf(data.subarray(6));
  return 1;
}

const ORIENTATION = 0x0112;

function orientationOf(tiff: Buffer): number {
  const isLittle = tiff.toString('latin1', 0, 2) === 'II';
  const short = (at: number): number =>
    at < 0 || at + 2 > tiff.length ? 0 : isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at);
  const long = (at: number): number =>
    isLittle ? short(at) + short(at + 2) * 65_536 : short(at) * 65_536 + short(at + 2);
  const directory = long(4);
  for (let entry = 0; entry < short(directory); entry++) {
    const at = directory + 2 + 12 * entry;
    if (at + 12 > tiff.length) return 1;
    if (short(at) === ORIENTATION) return short(at + 8) >= 1 && short(at + 8) <= 8 ? short(at + 8) : 1;
  }
  return 1;
}

/** The filters of ffmpeg that turn a picture as the number says. */
export const turningFilters: readonly (readonly string[])[] = [
  ...[[], [], ['hflip'], ['hflip', 'vflip'], ['vflip'], ['transpose=cclock_flip'], ['transpose=clock']],
  ...[['transpose=clock_flip'], ['transpose=cclock']],
];

/** Whether width and height change places. */
export const isOnItsSide = (orientation: number): boolean => orientation >= 5;
