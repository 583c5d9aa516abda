import { hostWork } from './scope/host-work.ts';
import { mediaSource } from './scope/media-source.ts';
import type { CallsOf } from './scope/scope.ts';

/** Images, of the interface `media`. */
export const imageCalls: CallsOf<'media.open-image' | 'media.image-pixels'> = {
  async 'media.open-image'(scope, wanted) {
    const { source, refusalOf } = mediaSource(wanted, scope.granted, scope.requestUrls);
    scope.charge(hostWork.process);
    const image = await scope.media().openImage(source, {
      files: scope.files,
      signal: scope.signal,
      refusalOf,
      traceparent: scope.context.traceparent,
    });
    return { image: scope.keep({ kind: 'image', image }), info: image.info };
  },
  async 'media.image-pixels'(scope, handle, width, height) {
    const { image } = scope.get(handle, 'image');
    scope.charge(hostWork.pixels(image.info.width * image.info.height + Math.max(0, width * height)));
    return image.pixels({ width, height }, { signal: scope.signal, traceparent: scope.context.traceparent });
  },
};
