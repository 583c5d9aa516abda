// Conversations of several people, mixed from recordings of each, with the times at which each of them speaks.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readWav } from '../../../inference/engines/fixtures/cannot-run.ts';
import { RAINBOW, recordings, SNACK, unlessOffline } from './clips.ts';
import type { SpokenTurn } from './diarization-errors.ts';
import { makeMedia } from './media-files.ts';
import { ffmpegPath, SAMPLE_TEXT, speechPath } from './media.ts';

const SAMPLE_RATE = 16_000;

/** Recordings of one person each. All but two are men. */
const VOICES = {
  kennedy: undefined, // the speech sample
  nature: 'basic/basic_ref_en.wav',
  chinese: 'basic/basic_ref_zh.wav', // a woman
  country: 'multi/country.flac',
  snack: SNACK.name, // a woman
  rainbow: RAINBOW.name,
} as const;
export type Voice = keyof typeof VOICES;

/** What the voices say. */
export const SPOKEN = {
  kennedy: SAMPLE_TEXT,
  nature: 'Some call me nature, others call me mother nature.',
  chinese: '对，这就是我，万人敬仰的太乙真人。',
  snack: SNACK.text,
  rainbow: RAINBOW.text,
} as const;

/** A recording, or the seconds `from` to `to` of it, after a pause. A negative pause overlaps with the one before. */
export type Part = readonly [voice: Voice, pauseS: number, fromS?: number, toS?: number];

export interface Conversation {
  readonly samples: Float32Array;
  readonly turns: readonly SpokenTurn[];
}

/** Returns the samples of each voice, or the reason when the package cannot be fetched. Writes to `folder`. */
export function voiceSamples(folder: string): Promise<ReadonlyMap<Voice, Float32Array> | string> {
  return unlessOffline(async () => {
    const voices = new Map<Voice, Float32Array>();
    for (const [voice, name] of Object.entries(VOICES) as [Voice, string | undefined][]) {
      const [path = speechPath()] = name === undefined ? [] : await recordings(name);
      const file = join(folder, `${voice}.wav`);
      const format = ['-ac', '1', '-ar', String(SAMPLE_RATE), '-c:a', 'pcm_s16le', '-bitexact'];
      const [samples] = await readWav(await makeMedia(ffmpegPath(), file, '-i', path, ...format));
      voices.set(voice, samples ?? new Float32Array(0));
    }
    return voices;
  });
}

/** Mixes the parts, all equally loud. */
export function conversation(voices: ReadonlyMap<Voice, Float32Array>, parts: readonly Part[]): Conversation {
  let end = 0;
  const placed = parts.map(([voice, pauseS, fromS = 0, toS = Infinity]) => {
    const samples = (voices.get(voice) ?? new Float32Array(0)).subarray(fromS * SAMPLE_RATE, toS * SAMPLE_RATE);
    const start = Math.max(0, end + Math.round(pauseS * SAMPLE_RATE));
    end = start + samples.length;
    return { voice, samples, start };
  });
  const mixed = new Float32Array(Math.max(0, ...placed.map(({ samples, start }) => start + samples.length)));
  const turns = placed.flatMap(({ voice, samples, start }) => {
    const peak = samples.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9);
    for (const [at, value] of samples.entries()) mixed[start + at] = (mixed[start + at] ?? 0) + (0.4 / peak) * value;
    return spokenParts(samples).map(([from, to]) => ({
      start: start / SAMPLE_RATE + from,
      end: start / SAMPLE_RATE + to,
      speaker: voice,
    }));
  });
  return { samples: mixed, turns };
}

/**
 * Makes a WAV file in which three people speak in turn, the first one twice. Returns the reason when the package cannot
 * be fetched. Writes to `folder`.
 */
export async function talkOfThree(folder: string): Promise<Uint8Array | string> {
  const voices = await voiceSamples(folder);
  if (typeof voices === 'string') return voices;
  const { samples } = conversation(voices, [
    ['kennedy', 0],
    ['rainbow', 0.5],
    ['snack', 0.5],
    ['kennedy', 0.5, 5, 11],
  ]);
  const raw = join(folder, 'talk.f32');
  await writeFile(raw, new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
  const input = ['-f', 'f32le', '-ar', String(SAMPLE_RATE), '-ac', '1', '-i', raw];
  return new Uint8Array(await readFile(await makeMedia(ffmpegPath(), join(folder, 'talk.wav'), ...input)));
}

const STEP = SAMPLE_RATE / 100;
/** The loudness of speech, compared with the loudest parts. */
const LOUD = 0.05;
const LONGEST_PAUSE_STEPS = 30;
const SHORTEST_PART_STEPS = 10;

/** Returns the seconds in which a recording without noise is loud. */
function spokenParts(samples: Float32Array): (readonly [start: number, end: number])[] {
  const loudness = Array.from({ length: Math.floor(samples.length / STEP) }, (_, step) =>
    Math.hypot(...samples.subarray(step * STEP, (step + 1) * STEP)),
  );
  const loudest = loudness.toSorted((a, b) => a - b)[Math.floor(loudness.length * 0.95)] ?? 0;
  const parts: [number, number][] = [];
  for (const [step, value] of loudness.entries()) {
    if (value < LOUD * loudest) continue;
    const last = parts.at(-1);
    if (last && step - last[1] <= LONGEST_PAUSE_STEPS) last[1] = step + 1;
    else parts.push([step, step + 1]);
  }
  return parts
    .filter(([start, end]) => end - start >= SHORTEST_PART_STEPS)
    .map(([start, end]) => [start / 100, end / 100] as const);
}
