import type { CallFigures } from '../../../base/core/usage/usage-meter.ts';
import { usageOf } from './generation-usage.ts';

/** Samples of one channel in a second. All audio in the host has this rate. */
const RATE = 16_000;

/** Returns what a call that succeeded used: the tokens that its result tells, and the audio of its arguments. */
export function figuresOf(isGeneration: boolean, args: Record<string, unknown>, result: unknown): CallFigures {
  const { input, cached, output } = isGeneration ? usageOf(result) : {};
  return { promptTokens: input, cachedTokens: cached, completionTokens: output, audioSeconds: secondsOf(args) };
}

interface Audio {
  readonly channels: readonly { readonly samples?: unknown }[];
}

/** Returns the seconds of the audios among the arguments, each of which is an audio or a list of audios. */
function secondsOf(args: Record<string, unknown>): number {
  let samples = 0;
  for (const value of Object.values(args)) {
    // A list without audio may have a million items, so its first one tells what it has.
    const audios = Array.isArray(value) && isAudio(value[0]) ? (value as Audio[]) : isAudio(value) ? [value] : [];
    for (const audio of audios) samples += samplesOf(audio);
  }
  return samples / RATE;
}

const isAudio = (value: unknown): value is Audio =>
  typeof value === 'object' &&
  value !== null &&
  'sample_rate' in value &&
  'channels' in value &&
  Array.isArray(value.channels);

/** Returns the samples of the longest channel: channels of one audio count once. */
const samplesOf = ({ channels }: Audio): number =>
  Math.max(0, ...channels.map((channel) => Number(channel.samples ?? 0)));

/** Returns the seconds of a value of a feed; 0 if it is no audio. */
export function heardSeconds(value: unknown): number {
  if (typeof value !== 'object' || value === null || !('encoding' in value) || !('data' in value)) return 0;
  const { encoding, data } = value;
  if (typeof data !== 'string') return 0;
  return Buffer.byteLength(data, 'base64') / (encoding === 'f32le' ? 4 : 2) / RATE;
}
