import type { OpenAiRoutesOptions } from '../../apis/openai/index.ts';
import type { Config } from '../../base/config/index.ts';
import { imageType, type MediaSource, type UploadedFile } from '../../io/media/index.ts';
import type { Services } from '../services.ts';

type MediaInput = Pick<
  OpenAiRoutesOptions,
  'audioInput' | 'openAudio' | 'openSound' | 'imageInput' | 'imageScope' | 'imageType' | 'videoInput' | 'videoScope'
>;

/** Returns how the APIs open images, videos and audio, over the media of an application. */
export function mediaInput(services: Pick<Services, 'openMedia'>, config: Config): MediaInput {
  return {
    audioInput: config.openai.audio_input,
    openAudio: async (file, context) => {
      const media = await services.openMedia();
      return media.openAudio({ content: 'file' }, { files: new Map([['file', file]]), ...context });
    },
    openSound: async (file, context, { audio_track } = {}) => {
      const media = await services.openMedia();
      return media.openSound({ content: 'file', audio_track }, { files: new Map([['file', file]]), ...context });
    },
    imageInput: config.openai.image_input,
    imageScope: async (context) => {
      const media = await services.openMedia();
      const scope = media.openScope({ context, maxBytes: config.openai.image_input.max_bytes });
      return {
        open: async (source, signal) => {
          const [address, files] = located(source);
          return (await scope.openImage(address, { files, signal })).forModel({ signal });
        },
        [Symbol.asyncDispose]: () => scope[Symbol.asyncDispose](),
      };
    },
    imageType,
    videoInput: config.openai.video_input,
    videoScope: async (context) => {
      const media = await services.openMedia();
      const scope = media.openScope({ context });
      return {
        open: async (source, signal) => {
          const [address, files] = located(source);
          const video = await scope.open(address, { files, signal });
          return { duration: video.info.duration, frames: (options, work) => video.frames(options, work) };
        },
        [Symbol.asyncDispose]: () => scope[Symbol.asyncDispose](),
      };
    },
  };
}

type Located = readonly [source: MediaSource, files: ReadonlyMap<string, UploadedFile>];

/** A scope opens each source once, so each file has a name of its own. */
const located = (source: { readonly url: string } | UploadedFile): Located =>
  'url' in source ? [source, new Map()] : [{ content: source.path }, new Map([[source.path, source]])];
