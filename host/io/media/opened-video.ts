import { raceAbort } from '../../base/core/abort.ts';
import type { FrameFileOptions, FrameOptions, MediaTrack, VideoFacts } from '../../base/schemas/index.ts';
import type { DecodedTrack } from './decoded-audio.ts';
import type { Probe } from './probe.ts';
import type {
  AudioChannels,
  AudioMedia,
  EarlyAudio,
  FrameFile,
  FrameWorkOptions,
  MediaWorkOptions,
  VideoFrame,
  VideoInfo,
  VideoMedia,
} from './types.ts';
import { shownTrack } from './video/video-track.ts';
import { frameFileOptions, frameOptions } from './video/frame-plan.ts';

/** A media file that a scope has opened. */
export interface OpenedFile {
  readonly path: string;
  readonly probe: Probe;
  /** Title and description from the page of the video. */
  readonly told: Pick<VideoInfo, 'title' | 'description'>;
  /** Decoded tracks by their channels and number. */
  readonly audio: Map<string, DecodedTrack>;
}

/** How a scope decodes a file. */
interface Decoders {
  readonly extract: (channels: AudioChannels, work: MediaWorkOptions) => Promise<DecodedTrack>;
  readonly frames: (options: FrameOptions, work: FrameWorkOptions) => AsyncGenerator<VideoFrame, void, undefined>;
  readonly frameFiles: (
    options: FrameFileOptions,
    work: FrameWorkOptions,
  ) => AsyncGenerator<FrameFile, void, undefined>;
  readonly subtitles: (track: number | undefined, work: MediaWorkOptions) => Promise<string>;
}

/** An opened media file, over the decoders of its scope. */
export class OpenedVideo implements VideoMedia {
  readonly mediaId: string;
  readonly info: VideoInfo;
  readonly #probe: Probe;
  readonly #decoders: Decoders;

  constructor(mediaId: string, { probe, told }: OpenedFile, decoders: Decoders) {
    this.mediaId = mediaId;
    this.info = { ...probe.info, ...told };
    this.#probe = probe;
    this.#decoders = decoders;
  }

  get facts(): VideoFacts {
    const { texts } = this.#probe;
    const { duration, hasAudio, hasVideo, title = texts.title, description = texts.description } = this.info;
    const { size, frameRate } = shownTrack(this.#probe.videoTracks) ?? {};
    return {
      ...(duration !== undefined && { duration }),
      ...{ has_audio: hasAudio, has_video: hasVideo, ...size },
      ...(frameRate !== undefined && { frame_rate: frameRate }),
      ...{ tracks: tracksOf(this.#probe), chapters: texts.chapters },
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
    };
  }

  extractAudio(channels: AudioChannels, options: MediaWorkOptions & { readonly early: true }): Promise<EarlyAudio>;
  extractAudio(channels: AudioChannels, options?: MediaWorkOptions): Promise<AudioMedia>;
  async extractAudio(
    channels: AudioChannels,
    { early = false, ...work }: MediaWorkOptions & { readonly early?: boolean } = {},
  ): Promise<EarlyAudio> {
    const track = await this.#decoders.extract(channels, work);
    return await raceAbort(early ? track.early : track.whole, work.signal);
  }

  frames(options: FrameOptions, work: FrameWorkOptions = {}): AsyncGenerator<VideoFrame, void, undefined> {
    return this.#decoders.frames(frameOptions(options), work);
  }

  frameFiles(options: FrameFileOptions, work: FrameWorkOptions = {}): AsyncGenerator<FrameFile, void, undefined> {
    return this.#decoders.frameFiles(frameFileOptions(options), work);
  }

  subtitles(track?: number, work: MediaWorkOptions = {}): Promise<string> {
    return this.#decoders.subtitles(track, work);
  }
}

function tracksOf({ videoTracks, audioTracks, subtitleTracks }: Probe): MediaTrack[] {
  const all = [
    ...videoTracks.map((track) => ({ kind: 'video' as const, ...track })),
    ...audioTracks.map((track) => ({ kind: 'audio' as const, ...track })),
    ...subtitleTracks.map((track) => ({ kind: 'subtitle' as const, ...track })),
  ];
  return all
    .sort((one, other) => one.stream - other.stream)
    .map(({ kind, codec, language }) => ({ kind, codec, ...(language !== undefined && { language }) }));
}
