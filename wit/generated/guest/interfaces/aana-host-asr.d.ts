// Generated from wit/world.wit by `npm run generate`; do not edit.
/// <reference path="./aana-host-media.d.ts" />
/// <reference path="./aana-host-types.d.ts" />
declare module 'aana:host/asr@0.1.0' {
  /**
   * Transcribes. Audio of 0 seconds, or without speech, gives the language `silence` and no segments.
   */
  export function transcribe(deployment: string, audio: Audio, params: Params): Transcription;
  /**
   * Transcribes and streams segments as they become final. Dropping the stream cancels it.
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
     * Name of the channel or speaker, when they are distinguished.
     */
    speaker?: string,
    timeInterval: TimeInterval,
    /**
     * Confidence of the time interval, 0 to 1.
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
     * Probability that the segment has no speech, 0 to 1.
     */
    noSpeechConfidence?: number,
    /**
     * Empty unless word timestamps were requested.
     */
    words: Array<Word>,
    /**
     * Name of the channel or speaker, when they are distinguished.
     */
    speaker?: string,
    /**
     * Language code, when each part of the speech has its own.
     */
    language?: string,
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
   * What becomes of the speech: its own words, or their translation into English.
   * # Variants
   *
   * ## `"transcribe"`
   *
   * ## `"translate"`
   */
  export type Task = 'transcribe' | 'translate';
  /**
   * Absent members have the deployment's defaults.
   */
  export interface Params {
    /**
     * Language code. Detected from the speech when it is absent.
     */
    language?: string,
    /**
     * Beams of the search, 1 to 8. 1 is greedy.
     */
    beamSize?: number,
    /**
     * Candidates when the temperature is above 0, 1 to 8.
     */
    bestOf?: number,
    /**
     * Sampling temperatures to try in turn, 0 to 1 each. Empty counts as absent.
     */
    temperatures: Float64Array,
    /**
     * Whether segments have the times of the windows of speech only.
     */
    withoutTimestamps?: boolean,
    /**
     * Whether to compute the times of each word.
     */
    wordTimestamps?: boolean,
    /**
     * Whether to transcribe only parts with voice activity.
     */
    vadFilter?: boolean,
    /**
     * `separate` transcribes each channel of separated audio, and names the channel as the speaker.
     */
    channels?: Channels,
    task?: Task,
    /**
     * Text before each part of the speech, at most 4,000 characters. Names and terms are written as they stand there.
     */
    initialPrompt?: string,
    /**
     * A text whose tokens have a lower mean log-probability is unlikely, and the next temperature is tried. -100 to 0.
     */
    logProbThreshold?: number,
    /**
     * An unlikely text is left out where the probability that nobody speaks is higher. 0 to 1.
     */
    noSpeechThreshold?: number,
    /**
     * The score of a beam is divided by its length to this power, 0 to 10.
     */
    lengthPenalty?: number,
    /**
     * The latest start of the first segment of a part, in seconds, 0 to 30.
     */
    maxInitialTimestamp?: number,
    /**
     * Whether to find the language of each part of the speech, not only of the first one. Excludes `language`.
     */
    multilingual?: boolean,
  }

  export class Transcriptions implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Returns the final parts since the last call, at least one. Empty when the stream has ended. Each part has only new segments.
    */
    next(): Array<Transcription>;
    [Symbol.dispose](): void;
  }
}
