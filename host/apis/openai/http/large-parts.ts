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
function largeAudio(models: ModelDirectory, { openai: { audioInput } }: MediaLimits): LargeParts {
  const isTaken = audioInput.deployment !== null || models.list().some(({ takesAudio }) => takesAudio);
  return isTaken ? { bytes: base64Bytes(audioInput.max_bytes), keys: new Set(AUDIO_KEYS) } : NONE;
}

/** Returns the images that a request may have in addition to its other JSON, if a model takes images. */
export function largeImages(models: ModelDirectory, { openai: { imageInput } }: MediaLimits): LargeParts {
  const areTaken = models.list().some(({ takesImages }) => takesImages);
  return areTaken ? { bytes: base64Bytes(imageInput.max_bytes), keys: new Set(IMAGE_KEYS) } : NONE;
}

/** Returns the audio and the images that a request may have in addition to its other JSON. */
export function largeMedia(models: ModelDirectory, options: MediaLimits): LargeParts {
  const audio = largeAudio(models, options);
  const images = largeImages(models, options);
  return { bytes: audio.bytes + images.bytes, keys: new Set([...audio.keys, ...images.keys]) };
}

const NONE: LargeParts = { bytes: 0, keys: new Set() };

const base64Bytes = (bytes: number): number => Math.ceil(bytes / 3) * 4;
