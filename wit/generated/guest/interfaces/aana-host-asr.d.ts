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
  /**
   * Transcribes as `transcribe` does, with all parameters.
   */
  export function transcribeWith(deployment: string, audio: Audio, options: TranscribeOptions): DetailedTranscription;
  /**
   * Transcribes as `transcribe-stream` does, with all parameters. Dropping the stream cancels it.
   */
  export function transcribeStreamWith(deployment: string, audio: Audio,
    options: TranscribeOptions): DetailedTranscriptions;
  export type Error = import('aana:host/types@0.1.0').Error;
  export type TokenScore = import('aana:host/types@0.1.0').TokenScore;
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
  /**
   * All parameters. Absent members have the deployment's defaults.
   */
  export interface TranscribeOptions {
    params: Params,
    /**
     * Text that the first part of the speech begins with, at most 4,000 characters. The result lacks it.
     */
    prefix?: string,
    /**
     * Words that are likely, at most 4,000 characters. Not used for a part with a prefix.
     */
    hotwords?: string,
    /**
     * Whether the text of a part is the prompt of the next one.
     */
    conditionOnPreviousText?: boolean,
    /**
     * A text of a higher temperature is no prompt of the next part. 0 to 1.
     */
    promptResetOnTemperature?: number,
    /**
     * The search with beams ends when so many times `beam-size` texts have ended. 0.1 to 10.
     */
    patience?: number,
    /**
     * A text that compression makes so many times shorter repeats itself, and the next temperature is tried. 0 to 100.
     */
    compressionRatioThreshold?: number,
    /**
     * Above 1, tokens that the text has become less likely. 1 to 10.
     */
    repetitionPenalty?: number,
    /**
     * No sequence of so many tokens occurs twice in a part. 0 to 100; 0 permits all.
     */
    noRepeatNgramSize?: number,
    /**
     * Whether the text of a part never begins with a space or its end.
     */
    suppressBlank?: boolean,
    /**
     * Numbers of tokens that are never chosen; -1 stands for all signs that are not spoken.
     */
    suppressTokens?: Int32Array,
    /**
     * The most tokens of a part's text, 1 to 448.
     */
    maxNewTokens?: number,
    /**
     * The longest part of the speech that is transcribed in one piece, in seconds, 1 to 30.
     */
    chunkLength?: number,
    /**
     * Seconds at which the parts to transcribe start and end in turn. The last end may be left out. Empty counts as
     * absent.
     */
    clipTimestamps: Float64Array,
    /**
     * Text that is probably invented is left out where this many seconds around it have no speech. Needs
     * `word-timestamps`.
     */
    hallucinationSilenceThreshold?: number,
    /**
     * The first part whose language is likelier than this decides the language of all. 0 to 1.
     */
    languageDetectionThreshold?: number,
    /**
     * Most parts of the speech whose language is looked for, 1 to 100.
     */
    languageDetectionSegments?: number,
    /**
     * Whether to tell the probabilities of all languages where one is detected. Excludes `multilingual`.
     */
    allLanguageProbs?: boolean,
    /**
     * Whether to tell the tokens of each segment with their log-probabilities.
     */
    logprobs?: boolean,
    /**
     * A JSON object with further parameters of the deployment, such as `{"vad_parameters":{"threshold":0.4}}`.
     */
    more?: string,
  }
  export interface LanguageProbability {
    /**
     * Language code.
     */
    language: string,
    /**
     * 0 to 1.
     */
    probability: number,
  }
  export interface DetailedSegment {
    segment: Segment,
    /**
     * The tokens of the text. Empty unless `logprobs` was requested.
     */
    tokens: Array<TokenScore>,
  }
  export interface DetailedTranscription {
    /**
     * The whole text.
     */
    text: string,
    info: TranscriptionInfo,
    /**
     * The likeliest first. Empty unless they were requested and the language was detected.
     */
    allLanguageProbs: Array<LanguageProbability>,
    segments: Array<DetailedSegment>,
  }

  export class DetailedTranscriptions implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Returns the final parts since the last call, at least one. Empty when the stream has ended. Each part has only
    * new segments.
    */
    next(): Array<DetailedTranscription>;
    [Symbol.dispose](): void;
  }

  export class Transcriptions implements Disposable {
    /**
     * This type does not have a public constructor.
     */
    private constructor();
    /**
    * Returns the final parts since the last call, at least one. Empty when the stream has ended. Each part has only
    * new segments.
    */
    next(): Array<Transcription>;
    [Symbol.dispose](): void;
  }
}
