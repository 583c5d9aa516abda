import type { RunContext } from '../run-context.ts';
import { audioBytes } from './audio-input.ts';
import { blaming } from '../blame.ts';
import { invalidValue } from '../fields.ts';
import { tooLarge } from '../../http/request/too-large.ts';
import type { FormLimits } from '../../http/request/form/read-form.ts';
import type { UploadFolders } from '../../http/request/form/uploads.ts';
import type { OpenAiRoutesOptions, OpenedAudio } from '../http/openai-options.ts';
import { openSoundBytes } from './open-sound.ts';

/** What opens the audio of requests. */
export type AudioOptions = UploadFolders & {
  readonly limits: FormLimits;
  readonly openai: Pick<OpenAiRoutesOptions, 'audioInput' | 'openAudio'>;
};

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
  { openai, limits }: AudioOptions,
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
  options: AudioOptions,
  context: RunContext,
): Promise<OpenedAudio> {
  const blame = { VideoReadingException: param, AudioReadingException: param, MediaTooLongException: param };
  return blaming(blame, () => openSoundBytes(bytes, options, context));
}
