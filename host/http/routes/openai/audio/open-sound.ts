import { AanaError } from '../../../../core/errors.ts';
import type { UploadedFile } from '../../../../endpoints/index.ts';
import type { OpenAiRoutesOptions, OpenedAudio } from '../openai-options.ts';

/** Decodes the audio of a file. Throws `AudioReadingException` for a file without an audio track, too. */
export async function openSound(
  file: UploadedFile,
  { openAudio }: OpenAiRoutesOptions,
  signal: AbortSignal,
): Promise<OpenedAudio> {
  const audio = await openAudio(file, signal);
  if (audio.channels.length > 0) return audio;
  await audio[Symbol.asyncDispose]();
  throw new AanaError('AudioReadingException', 'bad-request', 'the file has no audio track');
}
