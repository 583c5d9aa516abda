import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AudioFile, audioFiles, type AudioOptions, openAudioFile } from '../audio/audio-files.ts';
import { blaming } from '../blame.ts';
import { type ImagePart, inlineImage, type OpenMedia, type SoundPart } from './media-part.ts';
import { invalidValue, unsupported } from '../fields.ts';
import { withTemporaryFile } from '../../http/request/form/temporary-file.ts';
import { tooLarge } from '../../http/request/too-large.ts';
import type { OpenAiRoutesOptions } from '../http/openai-options.ts';

/** What opens the media of requests. */
export type MediaOptions = AudioOptions & {
  readonly openai: Pick<OpenAiRoutesOptions, 'imageInput' | 'imageScope'>;
};

/** Returns the function that opens the media of requests. Its errors name the part of the request. */
export function mediaOpener(options: MediaOptions): OpenMedia {
  return async (parts, { signal }) => {
    const opened: AsyncDisposable[] = [];
    const close = async (): Promise<void> => {
      for (const one of opened) await one[Symbol.asyncDispose]();
    };
    const images = parts.filter((part) => part.target.type === 'image') as readonly ImagePart[];
    const sounds = parts.filter((part) => part.target.type === 'audio') as readonly SoundPart[];
    const inline = await checkedImages(images, options);
    const files = audioFiles(sounds, options);
    try {
      if (images.length > 0) opened.push(await openImages(images, inline, options, signal));
      for (const file of files) opened.push(await openSound(file, options, signal));
      return { [Symbol.asyncDispose]: close };
    } catch (error) {
      await close();
      throw error;
    }
  };
}

async function openSound(
  file: AudioFile<SoundPart>,
  options: MediaOptions,
  signal: AbortSignal,
): Promise<AsyncDisposable> {
  const audio = await openAudioFile(file, options, signal);
  file.part.target.audio = audio;
  return audio;
}

/** Opens images one after the other, because each takes memory and a process. */
async function openImages(
  images: readonly ImagePart[],
  inline: readonly (Buffer | undefined)[],
  options: MediaOptions,
  signal: AbortSignal,
): Promise<AsyncDisposable> {
  const scope = await options.openai.imageScope();
  try {
    for (const [index, { param, url, target }] of images.entries()) {
      const bytes = inline[index];
      target.image = await blaming(blameOf(param), () =>
        bytes
          ? withTemporaryFile(bytes, options, (path) => scope.open({ path, bytes: bytes.length }, signal))
          : scope.open({ url }, signal),
      );
    }
    return scope;
  } catch (error) {
    await scope[Symbol.asyncDispose]();
    throw error;
  }
}

/** Returns the bytes of the images that are in the request; undefined for those that are fetched. */
async function checkedImages(
  images: readonly ImagePart[],
  { openai: { imageInput } }: MediaOptions,
): Promise<(Buffer | undefined)[]> {
  const excess = images[imageInput.max_images];
  if (excess) throw invalidValue(excess.param, `a request may have ${imageInput.max_images} images`);
  const inline: (Buffer | undefined)[] = [];
  for (const image of images) {
    await nextTurn(); // a large image, like the JSON that had it, takes 0.1 s
    inline.push(inlineImage(image));
  }
  if (inline.reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0) > imageInput.max_bytes)
    throw tooLarge('the images in the request are too large', imageInput.max_bytes, 'openai.image_input.max_bytes');
  const fetched = images.find((_, index) => inline[index] === undefined);
  if (fetched && !imageInput.fetch)
    throw unsupported(fetched.param, 'images are not fetched here; send the image as a data URL');
  return inline;
}

const blameOf = (param: string) => ({
  ImageReadingException: param,
  ImageTooLargeException: param,
  MediaTooLargeException: param,
  DownloadException: param,
  PrivateAddressException: param,
});
