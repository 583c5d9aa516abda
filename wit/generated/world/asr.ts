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
  /** Name of the channel or speaker, where they are told apart. */
  readonly speaker?: string | undefined;
  readonly timeInterval: TimeInterval;
  /** How sure its place is, 0 to 1. */
  readonly alignmentConfidence: number;
}

export interface Segment {
  /** With its leading space. */
  readonly text: string;
  readonly timeInterval: TimeInterval;
  /** 0 to 1. */
  readonly confidence?: number | undefined;
  /** How likely it holds no speech, 0 to 1. */
  readonly noSpeechConfidence?: number | undefined;
  /** Empty unless word timestamps were asked for. */
  readonly words: readonly Word[];
  /** Name of the channel or speaker, where they are told apart. */
  readonly speaker?: string | undefined;
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

/** What is absent is as the deployment has it by default. */
export interface Params {
  /** Language code; found from the speech when absent. */
  readonly language?: string | undefined;
  /** Beams of the search, 1 to 8; 1 is greedy. */
  readonly beamSize?: number | undefined;
  /** Candidates when the temperature is above 0, 1 to 8. */
  readonly bestOf?: number | undefined;
  /** Sampling temperatures to fall back through, 0 to 1 each; empty is absent. */
  readonly temperatures: ArrayLike<number>;
  /** Leave the times of segments to the windows of speech. */
  readonly withoutTimestamps?: boolean | undefined;
  /** Times of each word. */
  readonly wordTimestamps?: boolean | undefined;
  /** Transcribe only where voice activity was found. */
  readonly vadFilter?: boolean | undefined;
  /** `separate` transcribes each channel of audio that was taken apart, and names it as speaker. */
  readonly channels?: Channels | undefined;
}

/** A running transcription. */
export interface Transcriptions extends Disposable {
  /** What became final since the last call, at least one; empty when the stream has ended. Each has the segments that are new. */
  next(): readonly Transcription[];
}

/** The interface `asr` as a guest sees it. A function that fails throws the record `error`. */
export interface Asr {
  /** Transcribes. Audio of 0 seconds, or without speech, gives the language `silence` and no segments. */
  transcribe(deployment: string, audio: Audio, params: Params): Transcription;
  /** Transcribes, and gives segments as they become final. Dropping the stream cancels it. */
  transcribeStream(deployment: string, audio: Audio, params: Params): Transcriptions;
}

/** Its calls as they cross to the host. A resource is the number of its handle. */
export interface AsrCalls {
  'asr.next': { readonly args: readonly [transcriptions: number]; readonly value: readonly Transcription[] };
  'asr.transcribe': { readonly args: readonly [deployment: string, audio: number, params: Params]; readonly value: Transcription };
  'asr.transcribe-stream': { readonly args: readonly [deployment: string, audio: number, params: Params]; readonly value: number };
}
