import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AudioFile, audioFiles, type AudioOptions, openAudioFile } from '../audio/audio-files.ts';
import { blaming } from '../blame.ts';
import {
  type ImagePart,
  inlineImage,
  inlineVideo,
  type MediaPart,
  type OpenMedia,
  type SoundPart,
  type VideoPart,
} from './media-part.ts';
import { openVideo, type VideoScopes } from './video-input.ts';
import { invalidValue, unsupported } from '../fields.ts';
import { withTemporaryFile } from '../../http/request/form/temporary-file.ts';
import { tooLarge } from '../../http/request/too-large.ts';
import type { OpenAiRoutesOptions } from '../http/openai-options.ts';
import type { RunContext } from '../run-context.ts';

/** Videos of a request. Their files lie on the disk together. */
const MAX_VIDEOS = 8;

/** What opens the media of requests. */
export type MediaOptions = AudioOptions & {
  readonly openai: Pick<OpenAiRoutesOptions, 'imageInput' | 'imageScope' | 'videoInput' | 'videoScope'>;
};

/** Returns the function that opens the media of requests. Its errors name the part of the request. */
export function mediaOpener(options: MediaOptions): OpenMedia {
  return async (parts, context) => {
    const opened: AsyncDisposable[] = [];
    const close = async (): Promise<void> => {
      for (const one of opened) await one[Symbol.asyncDispose]();
    };
    const images = parts.filter((part): part is ImagePart => part.target.type === 'image');
    const videos = parts.filter((part): part is VideoPart => part.target.type === 'video');
    const sounds = parts.filter((part): part is SoundPart => part.target.type === 'audio');
    const inline = await checkedPictures([...images, ...videos], options);
    const files = audioFiles(sounds, options);
    try {
      if (images.length > 0) opened.push(await openImages(images, inline, options, context));
      if (videos.length > 0) opened.push(await openVideos(videos, inline, options, context));
      for (const file of files) opened.push(await openSound(file, options, context));
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
  context: RunContext,
): Promise<AsyncDisposable> {
  const audio = await openAudioFile(file, options, context);
  file.part.target.audio = audio;
  return audio;
}

/** Opens images one after the other, because each takes memory and a process. */
async function openImages(
  images: readonly ImagePart[],
  inline: Inline,
  options: MediaOptions,
  context: RunContext,
): Promise<AsyncDisposable> {
  const scope = await options.openai.imageScope(context);
  try {
    for (const part of images) {
      const [bytes] = inline.get(part) ?? [];
      part.target.image = await blaming(blameOf(part.param), () =>
        bytes
          ? withTemporaryFile(bytes, options, (path) => scope.open({ path, bytes: bytes.length }, context.signal))
          : scope.open({ url: part.url }, context.signal),
      );
    }
    return scope;
  } catch (error) {
    await scope[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * Opens videos one after the other, and writes their frames to their places. The videos of a request share its frames
 * evenly. Throws errors that name the video.
 */
async function openVideos(
  videos: readonly VideoPart[],
  inline: Inline,
  options: MediaOptions,
  context: RunContext,
): Promise<AsyncDisposable> {
  const { videoInput, videoScope, imageScope } = options.openai;
  const scopes: VideoScopes = { videos: await videoScope(context), pictures: await imageScope(context) };
  const close = async (): Promise<void> => {
    await scopes.videos[Symbol.asyncDispose]();
    await scopes.pictures[Symbol.asyncDispose]();
  };
  const most = framesOfEach(videoInput, videos.length);
  try {
    for (const part of videos)
      part.target.video = await blaming(blameOf(part.param), () =>
        openVideo(part, inline.get(part), { scopes, options, most, signal: context.signal }),
      );
    return { [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns the most frames of each of so many videos of a request. */
const framesOfEach = ({ max_frames: most }: OpenAiRoutesOptions['videoInput'], videos: number): number =>
  Math.floor(most / videos);

/** The bytes of the images and videos that are in the request: of a list of pictures, those of each one. */
type Inline = ReadonlyMap<MediaPart, readonly Buffer[]>;

/** Returns the bytes of the images and videos that are in the request. The others are fetched. */
async function checkedPictures(
  parts: readonly (ImagePart | VideoPart)[],
  { openai: { imageInput, videoInput } }: MediaOptions,
): Promise<Inline> {
  const excess = parts.filter(({ target }) => target.type === 'image')[imageInput.max_images];
  if (excess) throw invalidValue(excess.param, `a request may have ${imageInput.max_images} images`);
  const videos = parts.filter(({ target }) => target.type === 'video');
  const most = Math.min(MAX_VIDEOS, videoInput.max_frames);
  const beyond = videos[most];
  if (beyond && most === 0)
    throw unsupported(beyond.param, 'videos are not taken here (openai.video_input.max_frames)');
  if (beyond) throw invalidValue(beyond.param, `a request may have ${most} videos`);
  const inline = new Map<MediaPart, readonly Buffer[]>();
  for (const part of parts) {
    await nextTurn(); // a large image, like the JSON that had it, takes 0.1 s
    const bytes = 'sampling' in part ? inlineVideo(part, framesOfEach(videoInput, videos.length)) : inlineImage(part);
    if (bytes) inline.set(part, [bytes].flat());
  }
  if ([...inline.values()].flat().reduce((sum, { length }) => sum + length, 0) > imageInput.max_bytes)
    throw tooLarge(
      'the images and videos in the request are too large',
      imageInput.max_bytes,
      'openai.image_input.max_bytes',
    );
  const fetched = parts.find((part) => !inline.has(part));
  if (fetched && !imageInput.fetch)
    throw unsupported(
      fetched.param,
      `${fetched.target.type}s are not fetched here; send the ${fetched.target.type} as a data URL`,
    );
  return inline;
}

const blameOf = (param: string) => ({
  VideoReadingException: param,
  MediaTooLongException: param,
  ImageReadingException: param,
  ImageTooLargeException: param,
  MediaTooLargeException: param,
  DownloadException: param,
  PrivateAddressException: param,
});
