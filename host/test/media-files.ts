import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger } from '../core/logger.ts';
import { packageRoot } from '../core/package-root.ts';
import { findFfmpeg } from '../media/ffmpeg.ts';
import { runContained } from '../processes/index.ts';

/** The ffmpeg that the runner gives, else one that is found; `undefined`: skip. */
export async function testFfmpeg(): Promise<string | undefined> {
  const given = process.env['AANA_TEST_FFMPEG'];
  return given || (await findFfmpeg({ log: silentLogger }))?.path;
}

/** A file of the test data beside the project, where that is. */
export function testData(name: string): string | undefined {
  const path = join(process.env['AANA_TESTDATA'] ?? join(packageRoot, '..', 'shared', 'testdata'), name);
  return existsSync(path) ? path : undefined;
}

/** Runs `ffmpeg <args> file` to make a media file, and gives its path. */
export async function makeMedia(ffmpeg: string, file: string, ...args: readonly string[]): Promise<string> {
  const { code, stderr } = await runContained(ffmpeg, ['-nostdin', '-v', 'error', ...args, '-y', file]);
  if (code !== 0) throw new Error(`ffmpeg could not make ${file}: ${stderr}`);
  return file;
}

/** Input arguments: a sine of `hz` for `seconds`. */
export function sine(hz: number, seconds: number): readonly string[] {
  return ['-f', 'lavfi', '-i', `sine=frequency=${hz}:duration=${seconds}:sample_rate=16000`];
}
