// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-media.d.ts" />
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/asr@0.1.0' {
  /**
   * Transcribes. Audio of 0 seconds, or without speech, gives the language `silence` and no segments.
   */
  export function transcribe(deployment: string, audio: Audio, params: Params): Transcription;
  /**
   * Transcribes, and gives segments as they become final. Dropping the stream cancels it.
   */
  export function transcribeStream(deployment: string, audio: Audio, params: Params): Transcriptions;
  export type Error = import('aana:host/types@0.1.0').Error;
  export type Audio = import('aana:host/media@0.1.0').Audio;
  export type Channels = import('aana:host/media@0.1.0').Channels;
  /**
   * Seconds from the start of the media.
   */
  export interface TimeInterval {
    start: number,
    end: number,
  }
  export interface Word {
    /**
     * With its leading space.
     */
    word: string,
    /**
     * Name of the channel or speaker, where they are told apart.
     */
    speaker?: string,
    timeInterval: TimeInterval,
    /**
     * How sure its place is, 0 to 1.
     */
    alignmentConfidence: number,
  }
  export interface Segment {
    /**
     * With its leading space.
     */
    text: string,
    timeInterval: TimeInterval,
    /**
     * 0 to 1.
     */
    confidence?: number,
    /**
     * How likely it holds no speech, 0 to 1.
     */
    noSpeechConfidence?: number,
    /**
     * Empty unless word timestamps were asked for.
     */
    words: Array<Word>,
    /**
     * Name of the channel or speaker, where they are told apart.
     */
    speaker?: string,
  }
  export interface TranscriptionInfo {
    /**
     * Language code, or `silence` when there is no speech.
     */
    language: string,
    /**
     * 0 to 1.
     */
    languageConfidence: number,
  }
  export interface Transcription {
    /**
     * The whole text.
     */
    text: string,
    info: TranscriptionInfo,
    segments: Array<Segment>,
  }
  /**
   * What is absent is as the deployment has it by default.
   */
  export interface Params {
    /**
     * Language code; found from the speech when absent.
     */
    language?: string,
    /**
     * Beams of the search, 1 to 8; 1 is greedy.
     */
    beamSize?: number,
    /**
     * Candidates when the temperature is above 0, 1 to 8.
     */
    bestOf?: number,
    /**
     * Sampling temperatures to fall back through, 0 to 1 each; empty is absent.
     */
    temperatures: Float64Array,
    /**
     * Leave the times of segments to the windows of speech.
     */
    withoutTimestamps?: boolean,
    /**
     * Times of each word.
     */
    wordTimestamps?: boolean,
    /**
     * Transcribe only where voice activity was found.
     */
    vadFilter?: boolean,
    /**
     * `separate` transcribes each channel of audio that was taken apart, and names it as speaker.
     */
    channels?: Channels,
  }

  export class Transcriptions implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * What became final since the last call, at least one; empty when the stream has ended. Each has the segments that are new.
    */
    next(): Array<Transcription>;
    [Symbol.dispose](): void;
  }
}
