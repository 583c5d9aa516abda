import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AanaError } from '../../../../core/errors.ts';
import type { UploadedFile } from '../../../../endpoints/index.ts';
import { fromFormidable } from '../../../request/form/form-failures.ts';
import { makeUploadDir } from '../../../request/form/uploads.ts';
import type { OpenAiRoutesOptions, OpenedAudio } from '../openai-options.ts';
import type { OpenAiHttpOptions } from '../openai-request.ts';

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

/** Decodes the audio of a file that came inside of a request. Throws like {@link openSound}. */
export async function openSoundBytes(
  bytes: Buffer,
  { openai, limits, tempDir }: OpenAiHttpOptions,
  signal: AbortSignal,
): Promise<OpenedAudio> {
  const [, folder] = await makeUploadDir({ tempDir }).catch((error: unknown) => {
    throw fromFormidable(error, limits);
  });
  try {
    const path = join(folder, 'audio');
    await writeFile(path, bytes).catch((error: unknown) => {
      throw fromFormidable(error, limits);
    });
    return await openSound({ path, bytes: bytes.length }, openai, signal);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 20 });
  }
}
