import { hostCall, HostError } from '../host-error.ts';
import type {
  CaptionRecord as HostCaption,
  Repositories as HostRepositories,
  TranscriptInfo as HostTranscriptInfo,
  VideoRecord as HostVideo,
} from '../../../wit/generated/world/repositories.ts';
import type { RepositoriesWrite as HostRepositoriesWrite } from '../../../wit/generated/world/repositories-write.ts';

const PAGE = 200;
const MAX_FRAME_ID = 2 ** 31 - 1;

/** A video that the application keeps: where it is, and what it is called. */
export interface VideoRecord {
  readonly media_id: string;
  readonly path: string | null;
  readonly url: string | null;
  readonly title: string | null;
  readonly description: string | null;
}

/** What a picture of a video shows. */
export interface CaptionRecord {
  /** The media that it is of, and with which it goes; null for none. */
  readonly media_id: string | null;
  /** What made it. */
  readonly model: string;
  /** From 0 on. */
  readonly frame_id: number;
  readonly caption: string;
  /** Seconds from the start of the media. */
  readonly timestamp: number;
  /** What the application calls this kind of captions. */
  readonly caption_type: string;
}

/** A transcript without its texts. */
export interface TranscriptInfo {
  /** The media that it is of, and with which it goes; null for none. */
  readonly media_id: string | null;
  /** What made it. */
  readonly model: string;
  readonly language: string;
  /** From 0 to 1. */
  readonly language_confidence: number;
  /** What the application calls this kind of transcripts. */
  readonly transcript_type: string;
}

export interface TranscriptRecord extends TranscriptInfo {
  /** The whole text. */
  readonly transcript: string;
  /** As transcription gives them; any JSON values. */
  readonly segments: readonly unknown[];
}

/** With the number that the database gave it. */
export type Stored<T> = T & { readonly id: number };
type Optional<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>;
/** What is left out is absent; without `media_id` the host makes one. */
export type NewVideo = Partial<VideoRecord>;
/** Without `media_id` it is of no media. */
export type NewCaption = Optional<CaptionRecord, 'media_id' | 'caption_type'>;
/** Without `media_id` it is of no media. */
export type NewTranscript = Optional<TranscriptRecord, 'media_id' | 'transcript_type'>;

/**
 * What the application keeps of its media: all of its endpoints and plugins share it. What there is not throws
 * `NotFoundException`. Lists are fetched page by page as they are gone through.
 */
export interface Repositories {
  readonly media: {
    /** Whether there is a media with the id, of any kind. */
    exists(mediaId: string): boolean;
  };
  readonly videos: {
    getMetadata(mediaId: string): VideoRecord;
    /** All, in the order of their ids; those after `after`. */
    list(after?: string): Generator<VideoRecord, void, undefined>;
  };
  readonly captions: {
    read(id: number): Stored<CaptionRecord>;
    /** Of one media, in the order of their times. */
    list(mediaId: string): Generator<Stored<CaptionRecord>, void, undefined>;
  };
  readonly transcripts: {
    read(id: number): Stored<TranscriptRecord>;
    /** Of one media, the oldest first, without their texts. */
    listInfos(mediaId: string): Generator<Stored<TranscriptInfo>, void, undefined>;
  };
}

/** Changes it. Each call is done whole or not at all. */
export interface RepositoriesWrite {
  readonly media: {
    /** A media of another kind than a video. Throws `MediaIdAlreadyExistsException`. */
    create(mediaId: string, mediaType: string): void;
    /** Removes a media of any kind with its captions and transcripts. */
    delete(mediaId: string): void;
  };
  readonly videos: {
    /** Throws `MediaIdAlreadyExistsException`. */
    save(video: NewVideo): { readonly media_id: string };
  };
  readonly captions: {
    save(caption: NewCaption): Stored<CaptionRecord>;
    /** At most 1,000, all or none. */
    saveAll(captions: readonly NewCaption[]): Stored<CaptionRecord>[];
    delete(id: number): void;
  };
  readonly transcripts: {
    save(transcript: NewTranscript): Stored<TranscriptRecord>;
    delete(id: number): void;
  };
}

export function createRepositories(host: HostRepositories): Repositories {
  return {
    media: { exists: (mediaId) => hostCall(() => host.mediaExists(mediaId)) },
    videos: {
      getMetadata: (mediaId) => videoOf(hostCall(() => host.readVideo(mediaId))),
      list: (after) => pages<HostVideo, VideoRecord>((last) => host.listVideos(last?.mediaId ?? after, PAGE), videoOf),
    },
    captions: {
      read: (id) => captionOf(hostCall(() => host.readCaption(id))),
      list: (mediaId) =>
        pages(
          (last) => host.listCaptions(mediaId, last && { timestamp: last.timestamp, id: last.id }, PAGE),
          captionOf,
        ),
    },
    transcripts: {
      read(id) {
        const { info, transcript, segments } = hostCall(() => host.readTranscript(id));
        return { ...infoOf(info), transcript, segments: JSON.parse(segments) as unknown[] };
      },
      listInfos: (mediaId) =>
        pages<HostTranscriptInfo, Stored<TranscriptInfo>>(
          (last) => host.listTranscripts(mediaId, last?.id, PAGE),
          infoOf,
        ),
    },
  };
}

export function createRepositoriesWrite(host: HostRepositoriesWrite): RepositoriesWrite {
  const saveAll = (captions: readonly NewCaption[]): Stored<CaptionRecord>[] => {
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
    const ids = hostCall(() => host.saveCaptions(rows));
    return whole.map((caption, n) => ({ id: ids[n]!, ...caption }));
  };
  return {
    media: {
      create: (mediaId, mediaType) => hostCall(() => host.createMedia(mediaId, mediaType)),
      delete: (mediaId) => hostCall(() => host.deleteMedia(mediaId)),
    },
    videos: {
      save({ media_id: mediaId, path, url, title, description }) {
        return { media_id: hostCall(() => host.saveVideo(given({ mediaId, path, url, title, description }))) };
      },
    },
    captions: {
      save: (caption) => saveAll([caption])[0]!,
      saveAll,
      delete: (id) => hostCall(() => host.deleteCaption(id)),
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
        return { id: hostCall(() => host.saveTranscript(row)), ...whole };
      },
      delete: (id) => hostCall(() => host.deleteTranscript(id)),
    },
  };
}

/** What comes page by page; the next page begins after the last one's last entry. */
function* pages<H, T>(
  fetch: (last: H | undefined) => readonly H[],
  each: (entry: H) => T,
): Generator<T, void, undefined> {
  for (let last: H | undefined; ;) {
    const after = last;
    const page = hostCall(() => fetch(after));
    for (const entry of page) yield each(entry);
    last = page.at(-1);
    if (page.length < PAGE) return;
  }
}

/** The border has no type for others: it would trap. */
const isFrame = (id: number): boolean => Number.isInteger(id) && id >= 0 && id <= MAX_FRAME_ID;

/** The members that are there: bindings take no null. */
export function given<T extends Readonly<Record<string, string | null | undefined>>>(
  members: T,
): { [K in keyof T]?: string } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value != null)) as {
    [K in keyof T]?: string;
  };
}

// Bindings give null or undefined for none.

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
