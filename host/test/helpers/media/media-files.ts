import { silentLogger } from '../../../base/core/log/logger.ts';
import { findFfmpeg } from '../../../io/media/index.ts';
import { runContained } from '../../../base/processes/index.ts';

/** Returns the ffmpeg that the runner passes, else one that is found; `undefined` if the test should be skipped. */
export async function testFfmpeg(): Promise<string | undefined> {
  return process.env.AANA_TEST_FFMPEG || (await findFfmpeg({ log: silentLogger }))?.path;
}

/** Runs `ffmpeg <args> file` to make a media file. Returns its path. */
export async function makeMedia(ffmpeg: string, file: string, ...args: readonly string[]): Promise<string> {
  const { code, stderr } = await runContained(ffmpeg, ['-nostdin', '-v', 'error', ...args, '-y', file]);
  if (code !== 0) throw new Error(`ffmpeg could not make ${file}: ${stderr}`);
  return file;
}

/** Returns input arguments for a sine of `hz` for `seconds`. */
export function sine(hz: number, seconds: number): readonly string[] {
  return ['-f', 'lavfi', '-i', `sine=frequency=${hz}:duration=${seconds}:sample_rate=16000`];
}

/** Returns arguments that make a picture of `source`, such as `color=red:size=8x6`. */
export function stillPicture(source: string): readonly string[] {
  return ['-f', 'lavfi', '-i', source, '-frames:v', '1'];
}
