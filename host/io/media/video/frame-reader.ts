import type { Place } from '../../../base/core/async/limiter.ts';
import type { FrameFileOptions, FrameOptions } from '../../../base/schemas/index.ts';
import type { Probe } from '../probe.ts';
import type { Size } from '../image/size.ts';
import type { FrameFile, FrameWorkOptions, MediaWorkOptions, VideoFrame } from '../types.ts';
import { FrameConverters } from './frame-converters.ts';
import type { RawFrame } from './frame-decoder.ts';
import { FramePicture } from './frame-picture.ts';
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

/** What a reader makes of a decoded picture. */
interface Held<T> {
  readonly frame: T;
  /** Called before the next frame is read. */
  readonly leave?: () => Promise<void>;
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
  reading: FrameReadingOptions,
  work: FrameWorkOptions,
): AsyncGenerator<VideoFrame, void, undefined> {
  const { ffmpegPath, source, inPlace, newPath, root, signal } = reading;
  const spare: Spare = {};
  const onFree = (pixels: Buffer): void => void (spare.bytes = pixels);
  await using converters = new FrameConverters({ ffmpegPath, source, signal });
  yield* decodedFrames(path, probe, options, { ...reading, spare }, work, async ({ time, bytes }, size) => {
    const image = new FramePicture(bytes, {
      ...{ source, size, root, path: await newPath(), onFree },
      convert: (pixels, to, more) => inPlace('image', (over) => converters.convert(pixels, size, to, over), more),
    });
    return { frame: { time, image }, leave: () => image.leaveMemory() };
  });
}

/** Reads frames as {@link readFrames} does. The decoder makes a file of each. */
export function readFrameFiles(
  path: string,
  probe: Probe,
  options: FrameFileOptions,
  reading: FrameReadingOptions,
  work: FrameWorkOptions,
): AsyncGenerator<FrameFile, void, undefined> {
  return decodedFrames(
    path,
    probe,
    options,
    { ...reading, spare: {} },
    work,
    async ({ time, bytes }, { width, height }) => ({
      frame: { time, width, height, file: bytes },
    }),
  );
}

async function* decodedFrames<T>(
  path: string,
  probe: Probe,
  options: FrameOptions | FrameFileOptions,
  { inPlace, signal: ends, ...decoding }: FrameReadingOptions & { readonly spare: Spare },
  work: FrameWorkOptions,
  hold: (decoded: RawFrame, size: Size) => Promise<Held<T>>,
): AsyncGenerator<T, void, undefined> {
  const leaving = new AbortController();
  const signal = AbortSignal.any([ends, leaving.signal, ...(work.signal ? [work.signal] : [])]);
  const choosing = { signal, onDecoded: work.onDecoded, ...decoding };
  const { size, decoder, frames, areSought } = chooseFrames(path, probe, options, choosing);
  const decode = (): Promise<RawFrame | undefined> =>
    inPlace('frame', async (_, place) => (await inTurns(frames.next(), place, decoder)).value ?? undefined, work);
  let held: Held<T> | undefined;
  let next = decode();
  try {
    for (;;) {
      const decoded = await next;
      if (!decoded) return;
      held = await hold(decoded, size);
      if (!areSought) next = ahead(decode());
      yield held.frame;
      signal.throwIfAborted();
      await held.leave?.();
      if (areSought) next = decode();
    }
  } finally {
    leaving.abort();
    await next.catch(() => {}); // the caller has left, or has the error
    await frames.return();
    if (!ends.aborted) await held?.leave?.();
  }
}

/** Returns work whose error is for the one who waits for it, perhaps later. */
function ahead<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {});
  return work;
}
