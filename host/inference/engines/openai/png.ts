import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** Returns pixels (red, green and blue of each, row by row) as a PNG file. */
export async function pngOf(pixels: Uint8Array, width: number, height: number): Promise<Buffer> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8); // eight bits for each of three colours
  // Each row begins with the number of its filter: none.
  const rows = Buffer.alloc((3 * width + 1) * height);
  for (let row = 0; row < height; row += 1)
    rows.set(pixels.subarray(3 * width * row, 3 * width * (row + 1)), (3 * width + 1) * row + 1);
  const data = await promisify(deflate)(rows);
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
