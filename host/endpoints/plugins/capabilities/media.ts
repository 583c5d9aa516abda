import type { ImageHandle, MediaCalls } from '../../../../wit/generated/world/media.ts';
import type { ImagePort, WorkOptions } from '../ports.ts';
import { Base64Bytes } from '../sandbox/index.ts';
import { bytesOfBase64 } from './scope/base64.ts';
import type { ImageEncoding } from '../../../base/schemas/videos/encoding.ts';
import type { FrameFileOptions, FrameOptions } from '../../../base/schemas/videos/frames.ts';
import { computingCost } from './scope/computing-cost.ts';
import { fileFrames, FrameFileImage } from './scope/frame-file-image.ts';
import { HeldFrames } from './scope/held-frames.ts';
import { jsonValue } from './scope/json-members.ts';
import { mediaSource } from './scope/media-source.ts';
import type { CallsOf, CapabilityScope } from './scope/scope.ts';

/** Videos, their audio, and images. */
export const mediaCalls: CallsOf<keyof MediaCalls> = {
  async 'media.open'(scope, wanted) {
    const { source, refusalOf } = mediaSource(wanted, scope.granted, scope.requestUrls);
    scope.charge(computingCost.process);
    const { files, signal, context } = scope;
    const video = await scope.media().open(source, { files, signal, refusalOf, traceparent: context.traceparent });
    return { handle: scope.keep({ kind: 'video', video }), info: video.info, metadata: video.info };
  },
  async 'media.extract-audio'(scope, handle, channels) {
    const { video } = scope.get(handle, 'video');
    const { signal, context } = scope;
    const audio = await video.extractAudio(channels, { signal, traceparent: context.traceparent, early: true });
    scope.charge(computingCost.audio(audio.duration));
    return { handle: scope.keep({ kind: 'audio', audio }), duration: audio.duration };
  },
  'media.facts': async (scope, handle) => JSON.stringify(scope.get(handle, 'video').video.facts),
  async 'media.frames'(scope, handle, json) {
    const { video } = scope.get(handle, 'video');
    const options = jsonValue(json, 'the text of the options of frames');
    scope.requireRoom();
    scope.charge(computingCost.process);
    const { signal, traceparent } = scope.streamOptions(scope.signal);
    const onDecoded = (pixels: number): void => scope.charge(computingCost.decoded(pixels));
    const frames = new HeldFrames(signal, (ending) => {
      const work = { signal: ending, traceparent, onDecoded };
      // The host checks the options.
      if (!hasFormat(options)) return video.frames(options as FrameOptions, work);
      const files = video.frameFiles(options, work);
      const open = (file: Uint8Array, more: WorkOptions): Promise<ImagePort> => {
        scope.charge(computingCost.process);
        return scope.media().decodeImage(file, more);
      };
      return fileFrames(files, options, open, scope.held);
    });
    return scope.keep({ kind: 'frames', frames });
  },
  async 'media.subtitles'(scope, handle, track) {
    const { video } = scope.get(handle, 'video');
    scope.charge(computingCost.process);
    return video.subtitles(track ?? undefined, { signal: scope.signal, traceparent: scope.context.traceparent });
  },
  async 'media.encode'(scope, handle, json) {
    const { image } = scope.get(handle, 'image');
    const encoding = jsonValue(json, 'the text of the encoding') as ImageEncoding; // the host checks it
    if (image instanceof FrameFileImage && image.isOf(encoding)) {
      scope.charge(computingCost.piece(image.file.length));
      return new Base64Bytes(image.file);
    }
    scope.charge(computingCost.conversion(image.info));
    return new Base64Bytes(
      await image.encode(encoding, { signal: scope.signal, traceparent: scope.context.traceparent }),
    );
  },
  async 'media.next-frame'(scope, handle) {
    const { frames } = scope.get(handle, 'frames');
    scope.charge(computingCost.frame);
    return frames.next();
  },
  async 'media.frame-image'(scope, handle) {
    const { frames } = scope.get(handle, 'frames');
    scope.requireRoom();
    const image = frames.take();
    return { handle: scope.keep({ kind: 'image', image }), info: image.info };
  },
  async 'media.open-image'(scope, wanted) {
    const { source, refusalOf } = mediaSource(wanted, scope.granted, scope.requestUrls);
    scope.charge(computingCost.process);
    const { files, signal, context } = scope;
    const image = await scope.media().openImage(source, { files, signal, refusalOf, traceparent: context.traceparent });
    return { handle: scope.keep({ kind: 'image', image }), info: image.info };
  },
  'media.decode': decode,
  'media.decode-base64': (scope, file) => decode(scope, bytesOfBase64(file, 'the file of an image')),
  'media.image-pixels': pixels,
  'media.pixels-base64': async (...args) => new Base64Bytes(await pixels(...args)),
};

const hasFormat = (options: unknown): options is FrameFileOptions =>
  typeof options === 'object' && options !== null && 'format' in options;

async function decode(scope: CapabilityScope, file: Uint8Array): Promise<ImageHandle> {
  scope.charge(computingCost.process);
  const { signal, context } = scope;
  const image = await scope.media().decodeImage(file, { signal, traceparent: context.traceparent });
  return { handle: scope.keep({ kind: 'image', image }), info: image.info };
}

async function pixels(scope: CapabilityScope, handle: number, width: number, height: number): Promise<Uint8Array> {
  const { image } = scope.get(handle, 'image');
  scope.charge(computingCost.conversion(image.info, Math.max(0, width * height)));
  return image.pixels({ width, height }, { signal: scope.signal, traceparent: scope.context.traceparent });
}
