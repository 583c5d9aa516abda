// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/repositories@0.1.0' {
  export function mediaExists(mediaId: string): boolean;
  export function readVideo(mediaId: string): VideoRecord;
  /**
   * Returns the videos after `after`, in the order of their ids. Each list of this interface has at most `limit`
   * entries, and at most 200.
   */
  export function listVideos(after: string | undefined, limit: number): Array<VideoRecord>;
  export function readCaption(id: RowId): CaptionRecord;
  /**
   * Returns the captions of one media after `after`, in the order of their times. Empty when the media do not exist.
   */
  export function listCaptions(mediaId: string, after: CaptionPlace | undefined, limit: number): Array<CaptionRecord>;
  export function readTranscript(id: RowId): TranscriptRecord;
  /**
   * Returns the transcripts of one media with ids above `after`, the oldest first, without their texts.
   */
  export function listTranscripts(mediaId: string, after: RowId | undefined, limit: number): Array<TranscriptInfo>;
  export type Error = import('aana:host/types@0.1.0').Error;
  export type RowId = import('aana:host/types@0.1.0').RowId;
  export interface VideoRecord {
    mediaId: string,
    path?: string,
    url?: string,
    title?: string,
    description?: string,
  }
  export interface CaptionRecord {
    id: RowId,
    /**
     * The id of its media. It is deleted together with the media.
     */
    mediaId?: string,
    /**
     * The model that created it.
     */
    model: string,
    frameId: number,
    caption: string,
    /**
     * Seconds from the start of the media.
     */
    timestamp: number,
    /**
     * The application's name for this kind of captions.
     */
    captionType: string,
  }
  /**
   * The place of a caption in the order of its media.
   */
  export interface CaptionPlace {
    timestamp: number,
    id: RowId,
  }
  export interface TranscriptInfo {
    id: RowId,
    /**
     * The id of its media. It is deleted together with the media.
     */
    mediaId?: string,
    /**
     * The model that created it.
     */
    model: string,
    language: string,
    /**
     * 0 to 1.
     */
    languageConfidence: number,
    /**
     * The application's name for this kind of transcripts.
     */
    transcriptType: string,
  }
  export interface TranscriptRecord {
    info: TranscriptInfo,
    /**
     * The whole text.
     */
    transcript: string,
    /**
     * The JSON array that was saved.
     */
    segments: string,
  }
}
