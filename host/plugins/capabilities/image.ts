import type { MediaSource } from '../ports.ts';
import type { WitSource } from '../protocol.ts';
import type { CallsOf } from './scope.ts';

/** Images, of the interface `media`. */
export const imageCalls: CallsOf<'media.open-image' | 'media.image-pixels'> = {
  async 'media.open-image'(scope, source) {
    const image = await scope.media().openImage(mediaSource(source), { files: scope.files, signal: scope.signal });
    return { image: scope.keep({ kind: 'image', image }), info: image.info };
  },
  'media.image-pixels': (scope, image, width, height) => scope.get(image, 'image').image.pixels({ width, height }, { signal: scope.signal }),
};

export function mediaSource({ path, url, content, mediaId }: WitSource): MediaSource {
  return {
    ...(path !== undefined && { path }),
    ...(url !== undefined && { url }),
    ...(content !== undefined && { content }),
    ...(mediaId !== undefined && { media_id: mediaId }),
  };
}
