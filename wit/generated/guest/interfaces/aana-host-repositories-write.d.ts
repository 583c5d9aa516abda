// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/repositories-write@0.1.0' {
  /**
   * Creates media of another kind than a video. Fails with `MediaIdAlreadyExistsException` when media of any kind have
   * this id.
   */
  export function createMedia(mediaId: string, mediaType: string): void;
  /**
   * Returns the id of the video. Fails with `MediaIdAlreadyExistsException`.
   */
  export function saveVideo(video: NewVideo): string;
  /**
   * Saves at most 1,000 captions, all or none. Returns their ids in this order.
   */
  export function saveCaptions(captions: Array<NewCaption>): Float64Array;
  /**
   * Returns the id of the transcript.
   */
  export function saveTranscript(transcript: NewTranscript): RowId;
  /**
   * Deletes media of any kind with their captions and transcripts.
   */
  export function deleteMedia(mediaId: string): void;
  export function deleteCaption(id: RowId): void;
  export function deleteTranscript(id: RowId): void;
  export type Error = import('aana:host/types@0.1.0').Error;
  export type RowId = import('aana:host/types@0.1.0').RowId;
  export interface NewVideo {
    /**
     * Created by the host when it is absent.
     */
    mediaId?: string,
    path?: string,
    url?: string,
    title?: string,
    description?: string,
  }
  export interface NewCaption {
    /**
     * The id of existing media, or none.
     */
    mediaId?: string,
    model: string,
    /**
     * At most 2,147,483,647.
     */
    frameId: number,
    caption: string,
    /**
     * Seconds from the start of the media, from 0 on.
     */
    timestamp: number,
    /**
     * Default: `caption`.
     */
    captionType?: string,
  }
  export interface NewTranscript {
    /**
     * The id of existing media, or none.
     */
    mediaId?: string,
    model: string,
    /**
     * The whole text.
     */
    transcript: string,
    /**
     * A JSON array, for example the segments of a transcription.
     */
    segments: string,
    language: string,
    /**
     * 0 to 1.
     */
    languageConfidence: number,
    /**
     * Default: `transcript`.
     */
    transcriptType?: string,
  }
}
