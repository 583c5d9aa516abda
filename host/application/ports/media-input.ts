import type { OpenAiRoutesOptions } from '../../apis/openai/index.ts';
import type { Config } from '../../base/config/index.ts';
import type { Services } from '../services.ts';

type MediaInput = Pick<OpenAiRoutesOptions, 'audioInput' | 'openAudio' | 'openSound' | 'imageInput' | 'imageScope'>;

/** Returns how the APIs open images and audio, over the media of an application. */
export function mediaInput(services: Pick<Services, 'openMedia'>, config: Config): MediaInput {
  return {
    audioInput: config.openai.audio_input,
    openAudio: async (file, signal) => {
      const media = await services.openMedia();
      return media.openAudio({ content: 'file' }, { files: new Map([['file', file]]), signal });
    },
    openSound: async (file, signal, { audio_track } = {}) => {
      const media = await services.openMedia();
      return media.openSound({ content: 'file', audio_track }, { files: new Map([['file', file]]), signal });
    },
    imageInput: config.openai.image_input,
    imageScope: async () => {
      const media = await services.openMedia();
      const scope = media.openScope({ maxBytes: config.openai.image_input.max_bytes });
      return {
        open: async (source, signal) => {
          const [address, files] =
            'url' in source ? [source, new Map()] : [{ content: 'file' }, new Map([['file', source]])];
          return (await scope.openImage(address, { files, signal })).forModel({ signal });
        },
        [Symbol.asyncDispose]: () => scope[Symbol.asyncDispose](),
      };
    },
  };
}
