import type { RunContext } from '../run-context.ts';
import { AanaError } from '../../../base/core/errors.ts';
import { checkReferenceLength, type SpeakerReference } from './known-speakers.ts';
import { invalidValue } from '../fields.ts';
import type { AudioReference } from '../../../base/schemas/index.ts';
import type { OpenedAudio } from '../http/openai-options.ts';
import type { OpenAiHttpOptions } from '../http/openai-request.ts';
import { openSoundBytes } from './open-sound.ts';

/** Speakers with their decoded references, as an argument of `diarize`. Disposing them removes the files. */
export interface OpenedReferences extends AsyncDisposable {
  readonly speakers: readonly { readonly name: string; readonly audio: AudioReference }[];
}

/** What is wrong with a file of a client. */
const UNREADABLE: ReadonlySet<string> = new Set([
  'VideoReadingException',
  'AudioReadingException',
  'MediaTooLongException',
]);

/** Decodes references one after the other. Throws `InvalidParameter` for one that is no audio or has a wrong length. */
export async function openReferences(
  references: readonly SpeakerReference[],
  options: OpenAiHttpOptions,
  context: RunContext,
): Promise<OpenedReferences> {
  const opened: { readonly name: string; readonly audio: OpenedAudio }[] = [];
  const dispose = async (): Promise<void> => {
    for (const { audio } of opened) await audio[Symbol.asyncDispose]();
  };
  try {
    for (const reference of references) {
      const audio = await openSoundBytes(reference.bytes, options, context).catch((error: unknown) => {
        if (!(error instanceof AanaError && UNREADABLE.has(error.name))) throw error;
        throw invalidValue(reference.param, error.message);
      });
      opened.push({ name: reference.name, audio });
      checkReferenceLength(reference, audio.duration);
    }
  } catch (error) {
    await dispose();
    throw error;
  }
  return { speakers: opened, [Symbol.asyncDispose]: dispose };
}
