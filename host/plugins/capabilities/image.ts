import { mediaSource } from './media-source.ts';
import type { CallsOf } from './scope.ts';

/** Images, of the interface `media`. */
export const imageCalls: CallsOf<'media.open-image' | 'media.image-pixels'> = {
  async 'media.open-image'(scope, wanted) {
    const { source, refusalOf } = mediaSource(wanted, scope.granted, scope.requestUrls);
    const image = await scope.media().openImage(source, { files: scope.files, signal: scope.signal, refusalOf });
    return { image: scope.keep({ kind: 'image', image }), info: image.info };
  },
  'media.image-pixels': (scope, image, width, height) => scope.get(image, 'image').image.pixels({ width, height }, { signal: scope.signal }),
};
