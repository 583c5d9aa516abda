import type { Place } from '../../../base/core/async/limiter.ts';
import type { FrameOptions } from '../../../base/schemas/index.ts';
import type { Probe } from '../probe.ts';
import type { FrameWorkOptions, MediaWorkOptions, VideoFrame } from '../types.ts';
import { FrameConverters } from './frame-converters.ts';
import type { RawFrame } from './frame-decoder.ts';
import { FramePicture, type FramePictureOptions } from './frame-picture.ts';
import { inTurns } from './in-turns.ts';
import type { Spare } from './picture-process.ts';
import { chooseFrames, type DecodeFramesOptions } from './frames.ts';

export interface FrameReadingOptions extends Omit<DecodeFramesOptions, 'spare' | 'onDecoded'> {
  /** Returns the path of a new file below `root`. */
  readonly newPath: () => Promise<string>;
  /** The folder that the ids of artifacts are relative to. */
  readonly root: string;
  /** Runs work when one of the places of decoders is free. */
  readonly inPlace: <T>(
    kind: 'frame' | 'image',
    work: (signal: AbortSignal, place: Place) => Promise<T>,
    options: MediaWorkOptions,
  ) => Promise<T>;
}

/**
 * Reads the chosen frames of the file at `path`. While the caller looks at one, the next one is decoded, unless each is
 * sought by itself. Throws the errors of {@link chooseFrames}. The signal of the options ends everything, also what was
 * read.
 */
export async function* readFrames(
  path: string,
  probe: Probe,
  options: FrameOptions,
  { inPlace, newPath, root, signal: ends, ...decoding }: FrameReadingOptions,
  work: FrameWorkOptions,
): AsyncGenerator<VideoFrame, void, undefined> {
  const { ffmpegPath, source } = decoding;
  const leaving = new AbortController();
  const signal = AbortSignal.any([ends, leaving.signal, ...(work.signal ? [work.signal] : [])]);
  const spare: Spare = {};
  const onFree = (pixels: Buffer): void => void (spare.bytes = pixels);
  const choosing = { signal, spare, onDecoded: work.onDecoded, ...decoding };
  const { size, decoder, frames, areSought } = chooseFrames(path, probe, options, choosing);
  await using converters = new FrameConverters({ ffmpegPath, source, size, signal: ends });
  const convert: FramePictureOptions['convert'] = (pixels, to, more) =>
    inPlace('image', (over) => converters.convert(pixels, to, over), more);
  const decode = (): Promise<RawFrame | undefined> =>
    inPlace('frame', async (_, place) => (await inTurns(frames.next(), place, decoder)).value ?? undefined, work);
  let picture: FramePicture | undefined;
  let next = decode();
  try {
    for (;;) {
      const frame = await next;
      if (!frame) return;
      picture = new FramePicture(frame.pixels, { source, size, root, path: await newPath(), onFree, convert });
      if (!areSought) next = ahead(decode());
      yield { time: frame.time, image: picture };
      signal.throwIfAborted();
      await picture.leaveMemory();
      if (areSought) next = decode();
    }
  } finally {
    leaving.abort();
    await next.catch(() => {}); // the caller has left, or has the error
    await frames.return();
    if (!ends.aborted) await picture?.leaveMemory();
  }
}

/** Returns work whose error is for the one who waits for it, perhaps later. */
function ahead<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {});
  return work;
}
