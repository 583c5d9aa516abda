import type { ImageReference } from '../../../base/schemas/index.ts';
import { invalidValue, unsupported } from '../fields.ts';
import type { ServedModel } from '../../../inference/deployments/index.ts';
import { audioBytes } from '../audio/audio-input.ts';
import type { RunContext } from '../run-context.ts';

/** An image in the arguments of a call, before it is opened. */
export interface ImagePart {
  /** The address, as a parameter: `messages[0].content[1].image_url.url`. */
  param: string;
  /** An address or a data URL. */
  readonly url: string;
  /** The part of the dialog in the arguments. It has no image until the image is opened. */
  readonly target: { readonly type: 'image'; image: ImageReference | undefined };
}

/** Takes the images of a request. */
export class ImageParts {
  readonly parts: ImagePart[] = [];
  readonly #model: Pick<ServedModel, 'takesImages'>;
  readonly #why: string | undefined;

  /** `why` says why images are not opened for such requests, whatever the model takes. */
  constructor(model: Pick<ServedModel, 'takesImages'>, why?: string) {
    this.#model = model;
    this.#why = why;
  }

  /**
   * Returns the part of the arguments for the image of a part, which is named like `messages[0].content[1]`. Throws
   * `UnsupportedParameter` if the model takes none, and `InvalidParameter` for an address that is none.
   */
  take(url: string, part: string): ImagePart['target'] {
    if (!this.#model.takesImages)
      throw unsupported(
        `${part}.type`,
        `the model takes no images. A LlamaTextGenerationDeployment takes images if model_kwargs.mmproj names the ` +
          `vision projector of its model`,
      );
    if (this.#why !== undefined) throw unsupported(`${part}.type`, this.#why);
    const param = `${part}.image_url.url`;
    if (!ADDRESS.test(url.slice(0, 16)))
      throw invalidValue(param, 'it is neither an http or https address nor a data URL of an image');
    const target: ImagePart['target'] = { type: 'image', image: undefined };
    this.parts.push({ param, url, target });
    return target;
  }
}

/** Opens images and writes them to their places. They are closed with what it returns. */
export type OpenImages = (images: readonly ImagePart[], context: RunContext) => Promise<AsyncDisposable>;

/** Refuses images, for requests that nobody waits for. */
export const refuseImages: OpenImages = async ([first]) => {
  if (first) throw unsupported(first.param, 'images are opened only for requests that wait for their answer');
  return { [Symbol.asyncDispose]: async () => {} };
};

/** Takes no images, because their tokens have no texts. */
export const REFUSED_IMAGES = new ImageParts({ takesImages: true }, 'the tokens of images cannot be told');

const ADDRESS = /^(https?:\/\/|data:)/i;
const DATA_URL = /^data:image\/[\w.+-]+(?:;[\w.+-]+=[\w.+-]+)*;base64,/i;

/** Returns the bytes of an image in a data URL; undefined for an address. Throws `InvalidParameter` for other data. */
export function inlineImage({ param, url }: Pick<ImagePart, 'param' | 'url'>): Buffer | undefined {
  if (!/^data:/i.test(url.slice(0, 5))) return undefined;
  const [head] = DATA_URL.exec(url.slice(0, 200)) ?? [];
  if (head === undefined)
    throw invalidValue(param, 'a data URL of an image begins like data:image/png;base64, and goes on with base64');
  return audioBytes({ param, data: url.slice(head.length) });
}
