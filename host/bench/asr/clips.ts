import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { promisify } from 'node:util';

const SAMPLES_PER_SECOND = 16_000;
const BYTES_PER_SAMPLE = 2;
const WAV_HEADER_BYTES = 44;
/** Audio of a round that does not count is cut, so that a long file does not take long there. */
const WARM_UP_S = 15;
/** A prime that does not divide the bound, so that no two of so many requests are shifted by the same number. */
const SHIFT_STEP = 97;
const SHIFT_BOUND = 1600;

/** A recording as mono samples of 16 bits at 16 kHz. */
export interface Clip {
  readonly name: string;
  readonly samples: Buffer;
  readonly seconds: number;
  /** The spoken text, if it is known. */
  readonly text: string | undefined;
}

/** Decodes a media file. `textPath` has its spoken text. */
export async function readClip(path: string, textPath: string | undefined, ffmpeg: string): Promise<Clip> {
  const args = [
    '-nostdin',
    '-v',
    'error',
    '-i',
    path,
    '-ac',
    '1',
    '-ar',
    String(SAMPLES_PER_SECOND),
    '-f',
    's16le',
    '-',
  ];
  const options = { encoding: 'buffer', maxBuffer: 2 ** 30 } as const;
  const { stdout: samples } = await promisify(execFile)(ffmpeg, args, options);
  const seconds = samples.length / BYTES_PER_SAMPLE / SAMPLES_PER_SECOND;
  const text = textPath === undefined ? undefined : await readFile(textPath, 'utf8');
  return { name: basename(path, extname(path)), samples, seconds, text };
}

/** Returns the beginning of a clip, for the round that warms up. */
export function beginning(clip: Clip): Clip {
  const samples = clip.samples.subarray(0, WARM_UP_S * SAMPLES_PER_SECOND * BYTES_PER_SAMPLE);
  return { ...clip, samples, seconds: samples.length / BYTES_PER_SAMPLE / SAMPLES_PER_SECOND };
}

/**
 * Returns a WAV file of the clip after at most 0.1 s of silence. The silence of each request number has another length,
 * so that no server can use results of earlier requests.
 */
export function wavOf({ samples }: Clip, request: number): Buffer {
  const silence = Buffer.alloc((1 + ((request * SHIFT_STEP) % SHIFT_BOUND)) * BYTES_PER_SAMPLE);
  const bytes = silence.length + samples.length;
  const header = Buffer.alloc(WAV_HEADER_BYTES);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(bytes + WAV_HEADER_BYTES - 8, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16); // bytes of the format
  header.writeUInt16LE(1, 20); // whole numbers
  header.writeUInt16LE(1, 22); // one channel
  header.writeUInt32LE(SAMPLES_PER_SECOND, 24);
  header.writeUInt32LE(SAMPLES_PER_SECOND * BYTES_PER_SAMPLE, 28);
  header.writeUInt16LE(BYTES_PER_SAMPLE, 32);
  header.writeUInt16LE(8 * BYTES_PER_SAMPLE, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(bytes, 40);
  return Buffer.concat([header, silence, samples]);
}
