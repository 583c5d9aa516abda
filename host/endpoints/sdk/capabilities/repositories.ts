import { hostPromise } from '../guest/event-loop.ts';
import { pages } from './batches.ts';
import { HostError } from '../host-error.ts';
import type {
  CaptionRecord as HostCaption,
  Repositories as HostRepositories,
  TranscriptInfo as HostTranscriptInfo,
  VideoRecord as HostVideo,
} from '../../../../wit/generated/world/repositories.ts';
import type { RepositoriesWrite as HostRepositoriesWrite } from '../../../../wit/generated/world/repositories-write.ts';

const PAGE = 200;
const MAX_FRAME_ID = 2 ** 31 - 1;

/** A stored video. */
export interface VideoRecord {
  readonly media_id: string;
  readonly path: string | null;
  readonly url: string | null;
  readonly title: string | null;
  readonly description: string | null;
}

/** A stored caption, which describes a frame of a video. */
export interface CaptionRecord {
  /** The id of its media, or null. It is deleted together with the media. */
  readonly media_id: string | null;
  /** The model that created it. */
  readonly model: string;
  /** A whole number from 0 to 2,147,483,647. */
  readonly frame_id: number;
  readonly caption: string;
  /** Seconds from the start of the media. */
  readonly timestamp: number;
  /** The application's name for this kind of captions. */
  readonly caption_type: string;
}

/** A transcript without its texts. */
export interface TranscriptInfo {
  /** The id of its media, or null. It is deleted together with the media. */
  readonly media_id: string | null;
  /** The model that created it. */
  readonly model: string;
  readonly language: string;
  /** From 0 to 1. */
  readonly language_confidence: number;
  /** The application's name for this kind of transcripts. */
  readonly transcript_type: string;
}

export interface TranscriptRecord extends TranscriptInfo {
  /** The whole text. */
  readonly transcript: string;
  /** Segments as a transcription has them, or other JSON values. */
  readonly segments: readonly unknown[];
}

/** A row with the number from the database. */
export type Stored<T> = T & { readonly id: number };
type Optional<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>;
/** A new video. Absent members are null. Without `media_id` the host creates one. */
export type NewVideo = Partial<VideoRecord>;
/** A new row. Without `media_id` it belongs to no media. */
export type NewCaption = Optional<CaptionRecord, 'media_id' | 'caption_type'>;
/** A new row. Without `media_id` it belongs to no media. */
export type NewTranscript = Optional<TranscriptRecord, 'media_id' | 'transcript_type'>;

/** A list that is fetched page by page during the iteration, with `for await` or `for`. `all()` resolves with all. */
export type Listed<T> = AsyncIterable<T> & Iterable<T> & { all(): Promise<T[]> };

/**
 * The stored media of the application. All of its endpoints and plugins share them. A missing row throws
 * `NotFoundException`.
 */
export interface Repositories {
  readonly media: {
    /** Resolves with whether media of any kind have this id. */
    exists(mediaId: string): Promise<boolean>;
  };
  readonly videos: {
    getMetadata(mediaId: string): Promise<VideoRecord>;
    /** All videos in the order of their ids, or the videos after `after`. */
    list(after?: string): Listed<VideoRecord>;
  };
  readonly captions: {
    read(id: number): Promise<Stored<CaptionRecord>>;
    /** The captions of one media in the order of their times. */
    list(mediaId: string): Listed<Stored<CaptionRecord>>;
  };
  readonly transcripts: {
    read(id: number): Promise<Stored<TranscriptRecord>>;
    /** The transcripts of one media without their texts, the oldest first. */
    listInfos(mediaId: string): Listed<Stored<TranscriptInfo>>;
  };
}

/** Changes the stored media. Each call takes effect completely or not at all. */
export interface RepositoriesWrite {
  readonly media: {
    /** Creates media of another kind than a video. Throws `MediaIdAlreadyExistsException`. */
    create(mediaId: string, mediaType: string): Promise<void>;
    /** Deletes media of any kind with their captions and transcripts. */
    delete(mediaId: string): Promise<void>;
  };
  readonly videos: {
    /** Throws `MediaIdAlreadyExistsException`. */
    save(video: NewVideo): Promise<{ readonly media_id: string }>;
  };
  readonly captions: {
    save(caption: NewCaption): Promise<Stored<CaptionRecord>>;
    /** Saves at most 1,000 captions, all or none. */
    saveAll(captions: readonly NewCaption[]): Promise<Stored<CaptionRecord>[]>;
    delete(id: number): Promise<void>;
  };
  readonly transcripts: {
    save(transcript: NewTranscript): Promise<Stored<TranscriptRecord>>;
    delete(id: number): Promise<void>;
  };
}

export function createRepositories(host: HostRepositories): Repositories {
  return {
    media: { exists: (mediaId) => hostPromise(() => host.mediaExists(mediaId)) },
    videos: {
      getMetadata: (mediaId) => hostPromise(() => host.readVideo(mediaId), videoOf),
      list: (after) =>
        pages<HostVideo, VideoRecord>(PAGE, (last) => host.listVideos(last?.mediaId ?? after, PAGE), videoOf),
    },
    captions: {
      read: (id) => hostPromise(() => host.readCaption(id), captionOf),
      list: (mediaId) =>
        pages<HostCaption, Stored<CaptionRecord>>(
          PAGE,
          (last) => host.listCaptions(mediaId, last && { timestamp: last.timestamp, id: last.id }, PAGE),
          captionOf,
        ),
    },
    transcripts: {
      read: (id) =>
        hostPromise(
          () => host.readTranscript(id),
          ({ info, transcript, segments }) => ({
            ...infoOf(info),
            transcript,
            segments: JSON.parse(segments) as unknown[],
          }),
        ),
      listInfos: (mediaId) =>
        pages<HostTranscriptInfo, Stored<TranscriptInfo>>(
          PAGE,
          (last) => host.listTranscripts(mediaId, last?.id, PAGE),
          infoOf,
        ),
    },
  };
}

export function createRepositoriesWrite(host: HostRepositoriesWrite): RepositoriesWrite {
  const saveAll = async (captions: readonly NewCaption[]): Promise<Stored<CaptionRecord>[]> => {
    const whole = captions.map((caption): CaptionRecord => ({ media_id: null, caption_type: 'caption', ...caption }));
    for (const { frame_id: frame } of whole)
      if (!isFrame(frame))
        throw new HostError(
          'ValidationError',
          'invalid-input',
          `frame_id is a whole number from 0 to ${MAX_FRAME_ID}, not ${frame}`,
        );
    const rows = whole.map(
      ({ media_id: mediaId, model, frame_id: frameId, caption, timestamp, caption_type: captionType }) => ({
        ...given({ mediaId }),
        model,
        frameId,
        caption,
        timestamp,
        captionType,
      }),
    );
    const ids = await hostPromise(() => host.saveCaptions(rows));
    return whole.map((caption, n) => ({ id: ids[n]!, ...caption }));
  };
  return {
    media: {
      create: (mediaId, mediaType) => hostPromise(() => host.createMedia(mediaId, mediaType)),
      delete: (mediaId) => hostPromise(() => host.deleteMedia(mediaId)),
    },
    videos: {
      save({ media_id: mediaId, path, url, title, description }) {
        return hostPromise(
          () => host.saveVideo(given({ mediaId, path, url, title, description })),
          (id) => ({ media_id: id }),
        );
      },
    },
    captions: {
      save: async (caption) => (await saveAll([caption]))[0]!,
      saveAll,
      delete: (id) => hostPromise(() => host.deleteCaption(id)),
    },
    transcripts: {
      save(record) {
        const whole: TranscriptRecord = { media_id: null, transcript_type: 'transcript', ...record };
        const {
          media_id: mediaId,
          model,
          transcript,
          segments,
          language,
          language_confidence: languageConfidence,
          transcript_type: transcriptType,
        } = whole;
        const row = {
          ...given({ mediaId }),
          model,
          transcript,
          segments: JSON.stringify(segments),
          language,
          languageConfidence,
          transcriptType,
        };
        return hostPromise(
          () => host.saveTranscript(row),
          (id) => ({ id, ...whole }),
        );
      },
      delete: (id) => hostPromise(() => host.deleteTranscript(id)),
    },
  };
}

/** Whether a frame id is valid. The world has no type for others, and a call with one would trap. */
const isFrame = (id: number): boolean => Number.isInteger(id) && id >= 0 && id <= MAX_FRAME_ID;

/** Returns the members that are neither null nor undefined, because bindings take no null. */
export function given<T extends Readonly<Record<string, string | null | undefined>>>(
  members: T,
): { [K in keyof T]?: string } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value != null)) as {
    [K in keyof T]?: string;
  };
}

// Bindings return null or undefined for an absent value.

function videoOf({ mediaId, path, url, title, description }: HostVideo): VideoRecord {
  return {
    media_id: mediaId,
    path: path ?? null,
    url: url ?? null,
    title: title ?? null,
    description: description ?? null,
  };
}

function captionOf({
  id,
  mediaId,
  model,
  frameId,
  caption,
  timestamp,
  captionType,
}: HostCaption): Stored<CaptionRecord> {
  return { id, media_id: mediaId ?? null, model, frame_id: frameId, caption, timestamp, caption_type: captionType };
}

function infoOf({
  id,
  mediaId,
  model,
  language,
  languageConfidence,
  transcriptType,
}: HostTranscriptInfo): Stored<TranscriptInfo> {
  return {
    id,
    media_id: mediaId ?? null,
    model,
    language,
    language_confidence: languageConfidence,
    transcript_type: transcriptType,
  };
}
