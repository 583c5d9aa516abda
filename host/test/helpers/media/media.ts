import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../../base/core/package-root.ts';

const run = promisify(execFile);

/** The spoken words of the speech sample. */
export const SAMPLE_TEXT =
  'And so, my fellow Americans, ask not what your country can do for you, ask what you can do for your country.';

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with npm test`);
  return value;
}

/** Returns the path of the ffmpeg that the runner found. */
export const ffmpegPath = (): string => required('AANA_TEST_FFMPEG');
/** Returns the path of a recording of {@link SAMPLE_TEXT}. */
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

/** Makes a short video in which {@link SAMPLE_TEXT} is spoken. */
export function speakingVideo(): Promise<Uint8Array> {
  return encode([...PICTURE, '-i', speechPath(), '-shortest', '-c:v', 'mpeg4', '-c:a', 'aac'], 'mp4');
}

/** Makes the video of {@link speakingVideo} in a format that every browser plays. */
export function speakingWebm(): Promise<Uint8Array> {
  return encode([...PICTURE, '-i', speechPath(), '-shortest', '-c:v', 'libvpx', '-c:a', 'libopus'], 'webm');
}

const SLIDE = join(packageRoot, 'host/inference/engines/ocr/fixtures/slide.png');
/** The texts of {@link talkWithSlides}. */
export const SLIDES = ['The water cycle\n1. Evaporation from the sea', '2. Clouds form at 2,000 m\n3. Rain and snow'];

/** Makes a video in which {@link SAMPLE_TEXT} is spoken: for five seconds over one slide, and then over another one. */
export function talkWithSlides(): Promise<Uint8Array> {
  const halves = [0, 160].map((y, n) => `[${n}]crop=640:160:0:${y},pad=640:320:0:80:0xf4f5ef[slide${n}]`);
  return encode(
    [
      ...[5, 6].flatMap((seconds) => ['-loop', '1', '-framerate', '5', '-t', String(seconds), '-i', SLIDE]),
      ...['-i', speechPath(), '-filter_complex', [...halves, '[slide0][slide1]concat=n=2[slides]'].join(';')],
      ...['-map', '[slides]', '-map', '2:a', '-shortest', '-c:v', 'mpeg4', '-q:v', '3', '-c:a', 'aac'],
    ],
    'mp4',
  );
}

/** Makes a video with a silent audio track. */
export function silentVideo(): Promise<Uint8Array> {
  return encode(
    [...PICTURE, '-f', 'lavfi', '-i', 'anullsrc=r=44100:cl=stereo', '-t', '2', '-c:v', 'mpeg4', '-c:a', 'aac'],
    'mp4',
  );
}

/** Makes a video without an audio track. */
export function muteVideo(): Promise<Uint8Array> {
  return encode([...PICTURE, '-t', '2', '-c:v', 'mpeg4'], 'mp4');
}

/**
 * The arguments of ffmpeg for Opus audio, with the least work of the encoder, which takes a fifth of the usual time.
 */
const OPUS = ['-c:a', 'libopus', '-b:a', '24k', '-compression_level', '0'];

/** Makes Opus audio that repeats the speech sample. */
export function longSpeech(times: number): Promise<Uint8Array> {
  return encode(['-stream_loop', String(times - 1), '-i', speechPath(), ...OPUS], 'webm');
}
