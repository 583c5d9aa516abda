import { audioBytes } from './audio-input.ts';
import { blaming } from '../blame.ts';
import { invalidValue } from '../fields.ts';
import { tooLarge } from '../../http/request/too-large.ts';
import type { OpenedAudio } from '../http/openai-options.ts';
import type { OpenAiHttpOptions } from '../http/openai-request.ts';
import { openSoundBytes } from './open-sound.ts';

/** Audio of a request in base64, and the parameter that has it. */
interface EncodedAudio {
  readonly param: string;
  readonly data: string;
}

/** The file of audio that a request has. */
export interface AudioFile<Part extends EncodedAudio = EncodedAudio> {
  readonly part: Part;
  readonly bytes: Buffer;
}

/** Returns the files of the audio of a request. Throws errors that name the part if there are too many or too large. */
export function audioFiles<Part extends EncodedAudio>(
  parts: readonly Part[],
  { openai, limits }: OpenAiHttpOptions,
): AudioFile<Part>[] {
  const excess = parts[limits.max_files];
  if (excess) throw invalidValue(excess.param, `a request may have ${limits.max_files} parts with audio`);
  const files = parts.map((part) => ({ part, bytes: audioBytes(part) }));
  const most = openai.audioInput.max_bytes;
  if (files.reduce((sum, { bytes }) => sum + bytes.length, 0) > most)
    throw tooLarge('the audio in the request is too large', most, 'openai.audio_input.max_bytes');
  return files;
}

/** Decodes the file of an audio to its end. Errors name the part. */
export function openAudioFile(
  { part: { param }, bytes }: AudioFile,
  options: OpenAiHttpOptions,
  signal: AbortSignal,
): Promise<OpenedAudio> {
  const blame = { VideoReadingException: param, AudioReadingException: param, MediaTooLongException: param };
  return blaming(blame, () => openSoundBytes(bytes, options, signal));
}
