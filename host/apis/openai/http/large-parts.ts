import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import type { LargeParts } from '../../http/request/request-body.ts';
import type { OpenAiRoutesOptions } from './openai-options.ts';

/** Keys under which the APIs have the base64 of audio, and its data URLs. */
const AUDIO_KEYS: readonly string[] = ['data', 'file_data'];
/** Keys under which the APIs have the data URLs of images, and their base64. */
const IMAGE_KEYS: readonly string[] = ['url', 'image_url', 'data'];

interface MediaLimits {
  readonly openai: Pick<OpenAiRoutesOptions, 'audioInput' | 'imageInput'>;
}

/** Returns the audio that a request may have in addition to its other JSON, if a model hears or it is transcribed. */
function largeAudio(models: ModelDirectory, limits: MediaLimits): LargeParts {
  const isTaken = limits.openai.audioInput.deployment !== null || models.list().some(({ takesAudio }) => takesAudio);
  return isTaken ? mostAudio(limits) : NONE;
}

/** Returns the images that a request may have in addition to its other JSON, if a model takes images. */
export function largeImages(models: ModelDirectory, limits: MediaLimits): LargeParts {
  return models.list().some(({ takesImages }) => takesImages) ? mostImages(limits) : NONE;
}

/** Returns the audio and the images that a request may have in addition to its other JSON. */
export function largeMedia(models: ModelDirectory, limits: MediaLimits): LargeParts {
  return together(largeAudio(models, limits), largeImages(models, limits));
}

/**
 * Returns the audio and the images that a stored request may have in addition to its other JSON, whatever the models
 * take when it runs: they may be others than when it was stored.
 */
export const storedMedia = (limits: MediaLimits): LargeParts => together(mostAudio(limits), mostImages(limits));

const mostAudio = ({ openai: { audioInput } }: MediaLimits): LargeParts => ({
  bytes: base64Bytes(audioInput.max_bytes),
  keys: new Set(AUDIO_KEYS),
});

const mostImages = ({ openai: { imageInput } }: MediaLimits): LargeParts => ({
  bytes: base64Bytes(imageInput.max_bytes),
  keys: new Set(IMAGE_KEYS),
});

const together = (one: LargeParts, other: LargeParts): LargeParts => ({
  bytes: one.bytes + other.bytes,
  keys: new Set([...one.keys, ...other.keys]),
});

const NONE: LargeParts = { bytes: 0, keys: new Set() };

const base64Bytes = (bytes: number): number => Math.ceil(bytes / 3) * 4;
