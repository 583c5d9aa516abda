import type { RunContext } from '../run-context.ts';
import { fail } from '../../../base/core/errors.ts';
import type { UploadedFile } from '../../../endpoints/registry/index.ts';
import { withTemporaryFile } from '../../http/request/form/temporary-file.ts';
import type { OpenAiRoutesOptions, OpenedAudio, OpenedSound } from '../http/openai-options.ts';
import type { AudioOptions } from './audio-files.ts';

/**
 * Decodes the audio of a file without a wait for the end of decoding that takes a while. Throws `AudioReadingException`
 * for a file without an audio track, too.
 */
export async function openSound(
  file: UploadedFile,
  options: OpenAiRoutesOptions,
  context: RunContext,
  track: { readonly audio_track?: number | null | undefined },
): Promise<OpenedSound> {
  const sound = await options.openSound(file, context, track);
  return await withTrack(sound, sound.hasAudio);
}

/** Returns an opened audio if it has a track. Otherwise disposes it and throws. */
async function withTrack<Audio extends AsyncDisposable>(audio: Audio, hasTrack: boolean): Promise<Audio> {
  if (hasTrack) return audio;
  await audio[Symbol.asyncDispose]();
  throw fail('AudioReadingException', 'the file has no audio track');
}

/** Decodes the audio of a file that came inside of a request, to its end. Throws like {@link openSound}. */
export async function openSoundBytes(bytes: Buffer, options: AudioOptions, context: RunContext): Promise<OpenedAudio> {
  return await withTemporaryFile(bytes, options, async (path) => {
    const audio = await options.openai.openAudio({ path, bytes: bytes.length }, context);
    return await withTrack(audio, audio.channels.length > 0);
  });
}
