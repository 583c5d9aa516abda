// Generated from wit/world.wit by `npm run generate`; do not edit.
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
  /** A text whose tokens have a lower mean log-probability is unlikely, and the next temperature is tried. -100 to 0. */
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
  /** Returns the final parts since the last call, at least one. Empty when the stream has ended. Each part has only new segments. */
  next(): readonly Transcription[];
}

/** The interface `asr` as a guest sees it. A function that fails throws the record `error`. */
export interface Asr {
  /** Transcribes. Audio of 0 seconds, or without speech, gives the language `silence` and no segments. */
  transcribe(deployment: string, audio: Audio, params: Params): Transcription;
  /** Transcribes and streams segments as they become final. Dropping the stream cancels it. */
  transcribeStream(deployment: string, audio: Audio, params: Params): Transcriptions;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface AsrCalls {
  'asr.next': { readonly args: readonly [transcriptions: number]; readonly value: readonly Transcription[] };
  'asr.transcribe': { readonly args: readonly [deployment: string, audio: number, params: Params]; readonly value: Transcription };
  'asr.transcribe-stream': { readonly args: readonly [deployment: string, audio: number, params: Params]; readonly value: number };
}
