import type { AsrOutput, AsrSegment, AsrWord } from '../../schemas/asr.ts';

/** The records of the interface `asr`, as the glue gives and takes them. */
export interface WitTranscriptionParams {
  readonly language?: string | undefined;
  readonly beamSize?: number | undefined;
  readonly bestOf?: number | undefined;
  readonly temperatures: ArrayLike<number>;
  readonly withoutTimestamps?: boolean | undefined;
  readonly wordTimestamps?: boolean | undefined;
  readonly vadFilter?: boolean | undefined;
  readonly channels?: 'mix' | 'separate' | undefined;
}

interface WitWord {
  readonly word: string;
  readonly speaker: string | undefined;
  readonly timeInterval: { readonly start: number; readonly end: number };
  readonly alignmentConfidence: number;
}

interface WitSegment {
  readonly text: string;
  readonly timeInterval: { readonly start: number; readonly end: number };
  readonly confidence: number | undefined;
  readonly noSpeechConfidence: number | undefined;
  readonly words: readonly WitWord[];
  readonly speaker: string | undefined;
}

export interface WitTranscription {
  readonly text: string;
  readonly info: { readonly language: string; readonly languageConfidence: number };
  readonly segments: readonly WitSegment[];
}

/** The `params` of the deployment's method; none when everything is absent. */
export function whisperParams(params: WitTranscriptionParams): Record<string, unknown> | undefined {
  const given = Object.entries({
    language: params.language,
    beam_size: params.beamSize,
    best_of: params.bestOf,
    temperature: params.temperatures.length > 0 ? Array.from(params.temperatures) : undefined,
    without_timestamps: params.withoutTimestamps,
    word_timestamps: params.wordTimestamps,
    vad_filter: params.vadFilter,
    channels: params.channels,
  }).filter(([, value]) => value !== undefined);
  return given.length > 0 ? Object.fromEntries(given) : undefined;
}

export function witTranscription({ segments, transcription, transcription_info: info }: AsrOutput): WitTranscription {
  return {
    text: transcription.text,
    info: { language: info.language, languageConfidence: info.language_confidence },
    segments: segments.map(witSegment),
  };
}

function witSegment(segment: AsrSegment): WitSegment {
  return {
    text: segment.text,
    timeInterval: segment.time_interval,
    confidence: segment.confidence ?? undefined,
    noSpeechConfidence: segment.no_speech_confidence ?? undefined,
    words: segment.words.map(witWord),
    speaker: segment.speaker ?? undefined,
  };
}

function witWord(word: AsrWord): WitWord {
  return {
    word: word.word,
    speaker: word.speaker ?? undefined,
    timeInterval: word.time_interval,
    alignmentConfidence: word.alignment_confidence,
  };
}
