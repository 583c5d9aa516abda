// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { RowId } from './types.ts';

export interface NewVideo {
  /** Created by the host when it is absent. */
  readonly mediaId?: string | undefined;
  readonly path?: string | undefined;
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

export interface NewCaption {
  /** The id of existing media, or none. */
  readonly mediaId?: string | undefined;
  readonly model: string;
  /** At most 2,147,483,647. */
  readonly frameId: number;
  readonly caption: string;
  /** Seconds from the start of the media, from 0 on. */
  readonly timestamp: number;
  /** Default: `caption`. */
  readonly captionType?: string | undefined;
}

export interface NewTranscript {
  /** The id of existing media, or none. */
  readonly mediaId?: string | undefined;
  readonly model: string;
  /** The whole text. */
  readonly transcript: string;
  /** A JSON array, for example the segments of a transcription. */
  readonly segments: string;
  readonly language: string;
  /** 0 to 1. */
  readonly languageConfidence: number;
  /** Default: `transcript`. */
  readonly transcriptType?: string | undefined;
}

/** The interface `repositories-write` as a guest sees it. A function that fails throws the record `error`. */
export interface RepositoriesWrite {
  /**
   * Creates media of another kind than a video. Fails with `MediaIdAlreadyExistsException` when media of any kind have
   * this id.
   */
  createMedia(mediaId: string, mediaType: string): void;
  /** Returns the id of the video. Fails with `MediaIdAlreadyExistsException`. */
  saveVideo(video: NewVideo): string;
  /** Saves at most 1,000 captions, all or none. Returns their ids in this order. */
  saveCaptions(captions: readonly NewCaption[]): ArrayLike<number>;
  /** Returns the id of the transcript. */
  saveTranscript(transcript: NewTranscript): RowId;
  /** Deletes media of any kind with their captions and transcripts. */
  deleteMedia(mediaId: string): void;
  deleteCaption(id: RowId): void;
  deleteTranscript(id: RowId): void;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface RepositoriesWriteCalls {
  'repositories-write.create-media': { readonly args: readonly [mediaId: string, mediaType: string];
    readonly value: undefined };
  'repositories-write.save-video': { readonly args: readonly [video: NewVideo]; readonly value: string };
  'repositories-write.save-captions': { readonly args: readonly [captions: readonly NewCaption[]];
    readonly value: ArrayLike<number> };
  'repositories-write.save-transcript': { readonly args: readonly [transcript: NewTranscript]; readonly value: RowId };
  'repositories-write.delete-media': { readonly args: readonly [mediaId: string]; readonly value: undefined };
  'repositories-write.delete-caption': { readonly args: readonly [id: RowId]; readonly value: undefined };
  'repositories-write.delete-transcript': { readonly args: readonly [id: RowId]; readonly value: undefined };
}
