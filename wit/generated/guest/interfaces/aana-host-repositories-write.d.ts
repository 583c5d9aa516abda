// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/repositories-write@0.1.0' {
  /**
   * A media of another kind than a video. Fails with `MediaIdAlreadyExistsException` when there is one with the id, of any kind.
   */
  export function createMedia(mediaId: string, mediaType: string): void;
  /**
   * Gives its id. Fails with `MediaIdAlreadyExistsException`.
   */
  export function saveVideo(video: NewVideo): string;
  /**
   * At most 1,000, all or none; gives their ids in this order.
   */
  export function saveCaptions(captions: Array<NewCaption>): Float64Array;
  /**
   * Gives its id.
   */
  export function saveTranscript(transcript: NewTranscript): RowId;
  /**
   * Removes a media of any kind with its captions and transcripts.
   */
  export function deleteMedia(mediaId: string): void;
  export function deleteCaption(id: RowId): void;
  export function deleteTranscript(id: RowId): void;
  export type Error = import('aana:host/types@0.1.0').Error;
  export type RowId = import('aana:host/types@0.1.0').RowId;
  export interface NewVideo {
    /**
     * Made by the host when it is absent.
     */
    mediaId?: string,
    path?: string,
    url?: string,
    title?: string,
    description?: string,
  }
  export interface NewCaption {
    /**
     * A media that there is, or none.
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
     * `caption` when it is absent.
     */
    captionType?: string,
  }
  export interface NewTranscript {
    /**
     * A media that there is, or none.
     */
    mediaId?: string,
    model: string,
    /**
     * The whole text.
     */
    transcript: string,
    /**
     * A JSON array, such as that which a transcription gives.
     */
    segments: string,
    language: string,
    /**
     * 0 to 1.
     */
    languageConfidence: number,
    /**
     * `transcript` when it is absent.
     */
    transcriptType?: string,
  }
}
