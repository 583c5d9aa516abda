import type { AsrOutput, AsrSegment, AsrWord } from '../../schemas/asr.ts';
import type { Params, Segment, Transcription, Word } from '../../../wit/generated/world/asr.ts';

/** Returns the `params` for the deployment's method, or undefined when all of them are absent. */
export function whisperParams(params: Params): Record<string, unknown> | undefined {
  const given = Object.entries({
    language: params.language,
    beam_size: params.beamSize,
    best_of: params.bestOf,
    temperature: params.temperatures.length > 0 ? Array.from(params.temperatures) : undefined,
    without_timestamps: params.withoutTimestamps,
    word_timestamps: params.wordTimestamps,
    vad_filter: params.vadFilter,
    channels: params.channels,
    task: params.task,
    initial_prompt: params.initialPrompt,
    log_prob_threshold: params.logProbThreshold,
    no_speech_threshold: params.noSpeechThreshold,
    length_penalty: params.lengthPenalty,
    max_initial_timestamp: params.maxInitialTimestamp,
    multilingual: params.multilingual,
  }).filter(([, value]) => value !== undefined);
  return given.length > 0 ? Object.fromEntries(given) : undefined;
}

export function witTranscription({ segments, transcription, transcription_info: info }: AsrOutput): Transcription {
  return {
    text: transcription.text,
    info: { language: info.language, languageConfidence: info.language_confidence },
    segments: segments.map(witSegment),
  };
}

function witSegment(segment: AsrSegment): Segment {
  return {
    text: segment.text,
    timeInterval: segment.time_interval,
    confidence: segment.confidence ?? undefined,
    noSpeechConfidence: segment.no_speech_confidence ?? undefined,
    words: segment.words.map(witWord),
    speaker: segment.speaker ?? undefined,
    language: segment.language,
  };
}

function witWord(word: AsrWord): Word {
  return {
    word: word.word,
    speaker: word.speaker ?? undefined,
    timeInterval: word.time_interval,
    alignmentConfidence: word.alignment_confidence,
  };
}
