import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What the speech sample says. */
export const SAMPLE_TEXT =
  'And so, my fellow Americans, ask not what your country can do for you, ask what you can do for your country.';

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with npm test`);
  return value;
}

/** The ffmpeg that the runner found. */
export const ffmpegPath = (): string => required('AANA_TEST_FFMPEG');
/** A recording of {@link SAMPLE_TEXT}. */
export const speechPath = (): string => required('AANA_TEST_SPEECH');

async function encode(args: readonly string[], extension: string): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), 'aana-media-'));
  try {
    const file = join(folder, `out.${extension}`);
    await run(ffmpegPath(), ['-nostdin', '-v', 'error', ...args, file]);
    return await readFile(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const PICTURE = ['-f', 'lavfi', '-i', 'testsrc=size=160x120:rate=5'];

/** A short video that speaks {@link SAMPLE_TEXT}. */
export function speakingVideo(): Promise<Uint8Array> {
  return encode([...PICTURE, '-i', speechPath(), '-shortest', '-c:v', 'mpeg4', '-c:a', 'aac'], 'mp4');
}

/** A video whose audio track is silent. */
export function silentVideo(): Promise<Uint8Array> {
  return encode(
    [...PICTURE, '-f', 'lavfi', '-i', 'anullsrc=r=44100:cl=stereo', '-t', '2', '-c:v', 'mpeg4', '-c:a', 'aac'],
    'mp4',
  );
}

/** A video without an audio track. */
export function muteVideo(): Promise<Uint8Array> {
  return encode([...PICTURE, '-t', '2', '-c:v', 'mpeg4'], 'mp4');
}

/** The speech sample, over and over, as Opus audio. */
export function longSpeech(times: number): Promise<Uint8Array> {
  return encode(['-stream_loop', String(times - 1), '-i', speechPath(), '-c:a', 'libopus', '-b:a', '24k'], 'webm');
}
