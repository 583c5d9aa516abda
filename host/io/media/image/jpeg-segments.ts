interface Segment {
  readonly marker: number;
  readonly data: Buffer;
}

/** Yields the segments before the picture in the beginning of the file of a JPEG. */
export function* jpegSegments(jpeg: Buffer): Generator<Segment, void, undefined> {
  for (let at = 2; at + 4 <= jpeg.length && jpeg[at] === 0xff;) {
    const [marker = 0, length] = [jpeg[at + 1], jpeg.readUInt16BE(at + 2)];
    if (marker === 0xda || length < 2) return; // the picture begins
    yield { marker, data: jpeg.subarray(at + 4, at + 2 + length) };
    at += 2 + length;
  }
}

/**
 * Whether a JPEG consists of four inks without the mark of Adobe's programs, by which ffmpeg knows them. It would take
 * them for brightness and colours.
 */
export function hasUnmarkedInks(jpeg: Buffer): boolean {
  let isMarked = false;
  for (const { marker, data } of jpegSegments(jpeg)) {
    isMarked ||= marker === 0xee && data.toString('latin1', 0, 5) === 'Adobe';
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return data[5] === 4 && !isMarked;
  }
  return false;
}
