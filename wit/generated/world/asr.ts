// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { TokenScore } from './types.ts';
import type { Audio, Channels } from './media.ts';

/** Seconds from the start of the media. */
export interface TimeInterval {
  readonly start: number;
  readonly end: number;
}

export interface Word {
  /** With its leading space. */
  readonly word: string;
  /** Name of the channel or speaker, when they are distinguished. */
  readonly speaker?: string | undefined;
  readonly timeInterval: TimeInterval;
  /** Confidence of the time interval, 0 to 1. */
  readonly alignmentConfidence: number;
}

export interface Segment {
  /** With its leading space. */
  readonly text: string;
  readonly timeInterval: TimeInterval;
  /** 0 to 1. */
  readonly confidence?: number | undefined;
  /** Probability that the segment has no speech, 0 to 1. */
  readonly noSpeechConfidence?: number | undefined;
  /** Empty unless word timestamps were requested. */
  readonly words: readonly Word[];
  /** Name of the channel or speaker, when they are distinguished. */
  readonly speaker?: string | undefined;
  /** Language code, when each part of the speech has its own. */
  readonly language?: string | undefined;
}

export interface TranscriptionInfo {
  /** Language code, or `silence` when there is no speech. */
  readonly language: string;
  /** 0 to 1. */
  readonly languageConfidence: number;
}

export interface Transcription {
  /** The whole text. */
  readonly text: string;
  readonly info: TranscriptionInfo;
  readonly segments: readonly Segment[];
}

/** What becomes of the speech: its own words, or their translation into English. */
export type Task = 'transcribe' | 'translate';

/** Absent members have the deployment's defaults. */
export interface Params {
  /** Language code. Detected from the speech when it is absent. */
  readonly language?: string | undefined;
  /** Beams of the search, 1 to 8. 1 is greedy. */
  readonly beamSize?: number | undefined;
  /** Candidates when the temperature is above 0, 1 to 8. */
  readonly bestOf?: number | undefined;
  /** Sampling temperatures to try in turn, 0 to 1 each. Empty counts as absent. */
  readonly temperatures: ArrayLike<number>;
  /** Whether segments have the times of the windows of speech only. */
  readonly withoutTimestamps?: boolean | undefined;
  /** Whether to compute the times of each word. */
  readonly wordTimestamps?: boolean | undefined;
  /** Whether to transcribe only parts with voice activity. */
  readonly vadFilter?: boolean | undefined;
  /** `separate` transcribes each channel of separated audio, and names the channel as the speaker. */
  readonly channels?: Channels | undefined;
  readonly task?: Task | undefined;
  /** Text before each part of the speech, at most 4,000 characters. Names and terms are written as they stand there. */
  readonly initialPrompt?: string | undefined;
  /**
   * A text whose tokens have a lower mean log-probability is unlikely, and the next temperature is tried. -100 to 0.
   */
  readonly logProbThreshold?: number | undefined;
  /** An unlikely text is left out where the probability that nobody speaks is higher. 0 to 1. */
  readonly noSpeechThreshold?: number | undefined;
  /** The score of a beam is divided by its length to this power, 0 to 10. */
  readonly lengthPenalty?: number | undefined;
  /** The latest start of the first segment of a part, in seconds, 0 to 30. */
  readonly maxInitialTimestamp?: number | undefined;
  /** Whether to find the language of each part of the speech, not only of the first one. Excludes `language`. */
  readonly multilingual?: boolean | undefined;
}

/** A running transcription. */
export interface Transcriptions extends Disposable {
  /**
   * Returns the final parts since the last call, at least one. Empty when the stream has ended. Each part has only
   * new segments.
   */
  next(): readonly Transcription[];
}

/** All parameters. Absent members have the deployment's defaults. */
export interface TranscribeOptions {
  readonly params: Params;
  /** Text that the first part of the speech begins with, at most 4,000 characters. The result lacks it. */
  readonly prefix?: string | undefined;
  /** Words that are likely, at most 4,000 characters. Not used for a part with a prefix. */
  readonly hotwords?: string | undefined;
  /** Whether the text of a part is the prompt of the next one. */
  readonly conditionOnPreviousText?: boolean | undefined;
  /** A text of a higher temperature is no prompt of the next part. 0 to 1. */
  readonly promptResetOnTemperature?: number | undefined;
  /** The search with beams ends when so many times `beam-size` texts have ended. 0.1 to 10. */
  readonly patience?: number | undefined;
  /**
   * A text that compression makes so many times shorter repeats itself, and the next temperature is tried. 0 to 100.
   */
  readonly compressionRatioThreshold?: number | undefined;
  /** Above 1, tokens that the text has become less likely. 1 to 10. */
  readonly repetitionPenalty?: number | undefined;
  /** No sequence of so many tokens occurs twice in a part. 0 to 100; 0 permits all. */
  readonly noRepeatNgramSize?: number | undefined;
  /** Whether the text of a part never begins with a space or its end. */
  readonly suppressBlank?: boolean | undefined;
  /** Numbers of tokens that are never chosen; -1 stands for all signs that are not spoken. */
  readonly suppressTokens?: ArrayLike<number> | undefined;
  /** The most tokens of a part's text, 1 to 448. */
  readonly maxNewTokens?: number | undefined;
  /** The longest part of the speech that is transcribed in one piece, in seconds, 1 to 30. */
  readonly chunkLength?: number | undefined;
  /**
   * Seconds at which the parts to transcribe start and end in turn. The last end may be left out. Empty counts as
   * absent.
   */
  readonly clipTimestamps: ArrayLike<number>;
  /**
   * Text that is probably invented is left out where this many seconds around it have no speech. Needs
   * `word-timestamps`.
   */
  readonly hallucinationSilenceThreshold?: number | undefined;
  /** The first part whose language is likelier than this decides the language of all. 0 to 1. */
  readonly languageDetectionThreshold?: number | undefined;
  /** Most parts of the speech whose language is looked for, 1 to 100. */
  readonly languageDetectionSegments?: number | undefined;
  /** Whether to tell the probabilities of all languages where one is detected. Excludes `multilingual`. */
  readonly allLanguageProbs?: boolean | undefined;
  /** Whether to tell the tokens of each segment with their log-probabilities. */
  readonly logprobs?: boolean | undefined;
  /** A JSON object with further parameters of the deployment, such as `{"vad_parameters":{"threshold":0.4}}`. */
  readonly more?: string | undefined;
}

export interface LanguageProbability {
  /** Language code. */
  readonly language: string;
  /** 0 to 1. */
  readonly probability: number;
}

export interface DetailedSegment {
  readonly segment: Segment;
  /** The tokens of the text. Empty unless `logprobs` was requested. */
  readonly tokens: readonly TokenScore[];
}

export interface DetailedTranscription {
  /** The whole text. */
  readonly text: string;
  readonly info: TranscriptionInfo;
  /** The likeliest first. Empty unless they were requested and the language was detected. */
  readonly allLanguageProbs: readonly LanguageProbability[];
  readonly segments: readonly DetailedSegment[];
}

/** A running transcription with all that is known of it. */
export interface DetailedTranscriptions extends Disposable {
  /**
   * Returns the final parts since the last call, at least one. Empty when the stream has ended. Each part has only
   * new segments.
   */
  next(): readonly DetailedTranscription[];
}

/** The interface `asr` as a guest sees it. A function that fails throws the record `error`. */
export interface Asr {
  /** Transcribes. Audio of 0 seconds, or without speech, gives the language `silence` and no segments. */
  transcribe(deployment: string, audio: Audio, params: Params): Transcription;
  /** Transcribes and streams segments as they become final. Dropping the stream cancels it. */
  transcribeStream(deployment: string, audio: Audio, params: Params): Transcriptions;
  /** Transcribes as `transcribe` does, with all parameters. */
  transcribeWith(deployment: string, audio: Audio, options: TranscribeOptions): DetailedTranscription;
  /** Transcribes as `transcribe-stream` does, with all parameters. Dropping the stream cancels it. */
  transcribeStreamWith(deployment: string, audio: Audio, options: TranscribeOptions): DetailedTranscriptions;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface AsrCalls {
  'asr.next': { readonly args: readonly [transcriptions: number]; readonly value: readonly Transcription[] };
  'asr.transcribe': { readonly args: readonly [deployment: string, audio: number, params: Params];
    readonly value: Transcription };
  'asr.transcribe-stream': { readonly args: readonly [deployment: string, audio: number, params: Params];
    readonly value: number };
  'asr.next-detailed': { readonly args: readonly [detailedTranscriptions: number];
    readonly value: readonly DetailedTranscription[] };
  'asr.transcribe-with': { readonly args: readonly [deployment: string, audio: number, options: TranscribeOptions];
    readonly value: DetailedTranscription };
  'asr.transcribe-stream-with': { readonly args: readonly [deployment: string, audio: number,
    options: TranscribeOptions]; readonly value: number };
}
