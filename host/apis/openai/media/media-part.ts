import type { AudioReference, ImageReference } from '../../../base/schemas/index.ts';
import { invalidValue, unsupported } from '../fields.ts';
import type { ServedModel } from '../../../inference/deployments/index.ts';
import { audioBytes } from '../audio/audio-input.ts';
import type { RunContext } from '../run-context.ts';
import type { VideoSampling } from './video-sampling.ts';

/** An image in the arguments of a call, before it is opened. */
export interface ImagePart {
  /** The address, as a parameter: `messages[0].content[1].image_url.url`. */
  param: string;
  /** An address or a data URL. */
  readonly url: string;
  /** The part of the dialog in the arguments. It has no image until the image is opened. */
  readonly target: { readonly type: 'image'; image: ImageReference | undefined };
}

/** Audio in the arguments of a call, for a model that hears, before it is opened. */
export interface SoundPart {
  /** The audio, as a parameter: `messages[0].content[1].input_audio.data`. */
  param: string;
  /** Base64. */
  readonly data: string;
  /** The part of the dialog in the arguments. It has no audio until the audio is opened. */
  readonly target: { readonly type: 'audio'; audio: AudioReference | undefined };
}

/** A video in the arguments of a call, of which the model sees frames. */
export interface VideoPart {
  /** The address, as a parameter: `messages[0].content[1].video_url.url`. */
  param: string;
  /** An address or a data URL. */
  readonly url: string;
  sampling: VideoSampling;
  /** Most pixels of a side of its frames. */
  readonly maxSide: number;
  /** The part of the dialog in the arguments. It has no frames until the video is opened. */
  readonly target: { readonly type: 'video'; video: readonly VideoFrame[] };
}

/** A frame of a video. The pictures of a list of pictures have no times. */
export type VideoFrame = ImageReference | { readonly time: number; readonly image: ImageReference };

export type MediaPart = ImagePart | SoundPart | VideoPart;

type Takes = Pick<ServedModel, 'takesImages' | 'takesTextsOfImages' | 'takesAudio'>;

/** Pixels of the longer side of a frame that a model sees. Models make at most some hundred tokens of a frame. */
const SEEN_SIDE = 768;
/** Of a frame whose texts are read. The small print of slides is lost below. */
const READ_SIDE = 1280;

/** Takes the images and the videos of a request, and the audio that the model itself hears. */
export class MediaParts {
  readonly parts: MediaPart[] = [];
  readonly #model: Takes;
  readonly #why: string | undefined;

  /** `why` says why media are not opened for such requests, whatever the model takes. */
  constructor(model: Takes, why?: string) {
    this.#model = model;
    this.#why = why;
  }

  /**
   * Returns the part of the arguments for the image of a part, which is named like `messages[0].content[1]`. Throws
   * `UnsupportedParameter` if the model takes none, and `InvalidParameter` for an address that is none.
   */
  takeImage(url: string, part: string): ImagePart['target'] {
    const param = `${part}.image_url.url`;
    this.#requireSeen(url, part, 'image');
    const target: ImagePart['target'] = { type: 'image', image: undefined };
    this.parts.push({ param, url, target });
    return target;
  }

  /** Like {@link takeImage}, for a video. */
  takeVideo(url: string, part: string): VideoPart['target'] {
    this.#requireSeen(url, part, 'video');
    const target: VideoPart['target'] = { type: 'video', video: [] };
    const maxSide = this.#model.takesTextsOfImages ? READ_SIDE : SEEN_SIDE;
    this.parts.push({ param: `${part}.video_url.url`, url, sampling: {}, maxSide, target });
    return target;
  }

  #requireSeen(url: string, part: string, what: 'image' | 'video'): void {
    if (!this.#model.takesImages)
      throw unsupported(
        `${part}.type`,
        `the model takes no ${what}s. A LlamaTextGenerationDeployment takes images and videos if model_kwargs.mmproj ` +
          `names the vision projector of its model, and the texts in them if handles.ocr names an OcrDeployment`,
      );
    if (this.#why !== undefined) throw unsupported(`${part}.type`, this.#why);
    if (!ADDRESS.test(url.slice(0, 16)))
      throw invalidValue(
        `${part}.${what}_url.url`,
        `it is neither an http or https address nor a data URL of ${what === 'image' ? 'an image' : 'a video'}`,
      );
  }

  /** Like {@link takeImage}, for the audio of a part in base64. */
  takeAudio(data: string, part: string): SoundPart['target'] {
    if (!this.#model.takesAudio)
      throw unsupported(`${part}.type`, 'the model takes no content of the type input_audio');
    if (this.#why !== undefined) throw unsupported(`${part}.type`, this.#why);
    const target: SoundPart['target'] = { type: 'audio', audio: undefined };
    this.parts.push({ param: `${part}.input_audio.data`, data, target });
    return target;
  }
}

/** Opens media and writes them to their places. They are closed with what it returns. */
export type OpenMedia = (parts: readonly MediaPart[], context: RunContext) => Promise<AsyncDisposable>;

/** Takes no media, because their tokens have no texts. */
export const REFUSED_MEDIA = new MediaParts(
  { takesImages: true, takesAudio: true },
  'the tokens of images and audio cannot be told',
);

const ADDRESS = /^(https?:\/\/|data:)/i;
const DATA_URL = /^data:(image|video)\/[\w.+-]+(?:;[\w.+-]+=[\w.+-]+)*;base64,/i;

/** Returns the bytes of an image in a data URL; undefined for an address. Throws `InvalidParameter` for other data. */
export function inlineImage({ param, url }: Pick<ImagePart, 'param' | 'url'>): Buffer | undefined {
  if (!/^data:/i.test(url.slice(0, 5))) return undefined;
  const data = dataOf(url, 'image');
  if (data === undefined)
    throw invalidValue(param, 'a data URL of an image begins like data:image/png;base64, and goes on with base64');
  return audioBytes({ param, data });
}

/**
 * Returns the bytes of a video in a data URL, or of each picture of `data:video/jpeg;base64,` and pictures between
 * commas, as vLLM takes them; undefined for an address. Throws `InvalidParameter` for other data, and before it decodes
 * more than `most` pictures.
 */
export function inlineVideo(
  { param, url }: Pick<VideoPart, 'param' | 'url'>,
  most: number,
): Buffer | Buffer[] | undefined {
  if (!/^data:/i.test(url.slice(0, 5))) return undefined;
  const data = dataOf(url, 'video');
  if (data === undefined)
    throw invalidValue(param, 'a data URL of a video begins like data:video/mp4;base64, and goes on with base64');
  if (!isPictureList({ url })) return audioBytes({ param, data });
  const pictures = data.split(',', most + 1);
  if (pictures.length > most) throw invalidValue(param, `it has more than ${most} pictures`);
  return pictures.map((picture) => audioBytes({ param, data: picture }));
}

/** Whether the data URL of a video is a list of pictures in place of a file. */
export const isPictureList = ({ url }: Pick<VideoPart, 'url'>): boolean =>
  /^data:video\/jpeg[;,]/i.test(url.slice(0, 16));

/** Returns the base64 in a data URL of such a medium; undefined for another URL. */
function dataOf(url: string, medium: 'image' | 'video'): string | undefined {
  const [head, type] = DATA_URL.exec(url.slice(0, 200)) ?? [];
  return head !== undefined && type!.toLowerCase() === medium ? url.slice(head.length) : undefined;
}
