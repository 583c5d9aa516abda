// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { RowId } from './types.ts';

export interface VideoRecord {
  readonly mediaId: string;
  readonly path?: string | undefined;
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

export interface CaptionRecord {
  readonly id: RowId;
  /** The id of its media. It is deleted together with the media. */
  readonly mediaId?: string | undefined;
  /** The model that created it. */
  readonly model: string;
  readonly frameId: number;
  readonly caption: string;
  /** Seconds from the start of the media. */
  readonly timestamp: number;
  /** The application's name for this kind of captions. */
  readonly captionType: string;
}

/** The place of a caption in the order of its media. */
export interface CaptionPlace {
  readonly timestamp: number;
  readonly id: RowId;
}

export interface TranscriptInfo {
  readonly id: RowId;
  /** The id of its media. It is deleted together with the media. */
  readonly mediaId?: string | undefined;
  /** The model that created it. */
  readonly model: string;
  readonly language: string;
  /** 0 to 1. */
  readonly languageConfidence: number;
  /** The application's name for this kind of transcripts. */
  readonly transcriptType: string;
}

export interface TranscriptRecord {
  readonly info: TranscriptInfo;
  /** The whole text. */
  readonly transcript: string;
  /** The JSON array that was saved. */
  readonly segments: string;
}

/** The interface `repositories` as a guest sees it. A function that fails throws the record `error`. */
export interface Repositories {
  mediaExists(mediaId: string): boolean;
  readVideo(mediaId: string): VideoRecord;
  /**
   * Returns the videos after `after`, in the order of their ids. Each list of this interface has at most `limit`
   * entries, and at most 200.
   */
  listVideos(after: string | undefined, limit: number): readonly VideoRecord[];
  readCaption(id: RowId): CaptionRecord;
  /**
   * Returns the captions of one media after `after`, in the order of their times. Empty when the media do not exist.
   */
  listCaptions(mediaId: string, after: CaptionPlace | undefined, limit: number): readonly CaptionRecord[];
  readTranscript(id: RowId): TranscriptRecord;
  /** Returns the transcripts of one media with ids above `after`, the oldest first, without their texts. */
  listTranscripts(mediaId: string, after: RowId | undefined, limit: number): readonly TranscriptInfo[];
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface RepositoriesCalls {
  'repositories.media-exists': { readonly args: readonly [mediaId: string]; readonly value: boolean };
  'repositories.read-video': { readonly args: readonly [mediaId: string]; readonly value: VideoRecord };
  'repositories.list-videos': { readonly args: readonly [after: string | undefined, limit: number];
    readonly value: readonly VideoRecord[] };
  'repositories.read-caption': { readonly args: readonly [id: RowId]; readonly value: CaptionRecord };
  'repositories.list-captions': { readonly args: readonly [mediaId: string, after: CaptionPlace | undefined,
    limit: number]; readonly value: readonly CaptionRecord[] };
  'repositories.read-transcript': { readonly args: readonly [id: RowId]; readonly value: TranscriptRecord };
  'repositories.list-transcripts': { readonly args: readonly [mediaId: string, after: RowId | undefined,
    limit: number]; readonly value: readonly TranscriptInfo[] };
}
