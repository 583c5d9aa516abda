import type { NativeAudioFile, NativeVoiceDetector } from '../../../../native/lib/index.ts';
import { fail } from '../../../base/core/errors.ts';
import { InferenceException } from '../../replicas/process/inference-exception.ts';
import { nativeFailure } from '../native.ts';

const SAMPLES_PER_SECOND = 16_000;
export const FRAME_SAMPLES = 512;
/** Seconds of a frame. */
export const FRAME_S = FRAME_SAMPLES / SAMPLES_PER_SECOND;
/** A call gives its detector back after this part, so that other calls get their turn: 31 s. */
const PART_SAMPLES = FRAME_SAMPLES * 970;

interface DetectionOptions {
  readonly signal: AbortSignal;
  /** Called after each part, with the fraction that is done. */
  readonly onPart?: (fraction: number) => void;
}

const longest = (files: readonly NativeAudioFile[]): number => Math.max(0, ...files.map(({ samples }) => samples));

/** Returns the seconds of an audio whose channels these files are. */
export const secondsOf = (files: readonly NativeAudioFile[]): number => longest(files) / SAMPLES_PER_SECOND;

/**
 * Returns the probability of speech for each frame of an audio. `next` returns a detector for a part of it. Throws the
 * signal's reason, `DecodedAudioError` or `InferenceException`.
 */
export async function voiceProbabilities(
  next: () => NativeVoiceDetector,
  files: readonly NativeAudioFile[],
  modelName: string,
  { signal, onPart }: DetectionOptions,
): Promise<Float32Array> {
  const length = longest(files);
  const all = new Float32Array(Math.ceil(length / FRAME_SAMPLES));
  let state: Float32Array | undefined;
  for (let begin = 0; begin < length; begin += PART_SAMPLES) {
    signal.throwIfAborted();
    const part = await next()
      .detect(files, begin, PART_SAMPLES, state)
      .catch((thrown: unknown) => {
        const { code, message } = nativeFailure(thrown);
        if (code === 'unreadable-audio') throw fail('DecodedAudioError', message);
        throw new InferenceException(modelName, message);
      });
    all.set(part.probabilities, begin / FRAME_SAMPLES);
    ({ state } = part);
    onPart?.(Math.min(1, (begin + PART_SAMPLES) / length));
  }
  return all;
}
