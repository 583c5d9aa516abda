import type { AsrOutput, AsrSegment, AsrWord } from '../../../../base/schemas/asr.ts';
import type {
  DetailedTranscription,
  Params,
  Segment,
  TranscribeOptions,
  Transcription,
  Word,
} from '../../../../../wit/generated/world/asr.ts';
import { witTokenScore } from '../completion/completion-answer.ts';
import { given, withMore } from '../scope/json-members.ts';

/** Returns the `params` for the deployment's method, or undefined when all of them are absent. */
export function whisperParams(params: Params): Record<string, unknown> | undefined {
  return unlessEmpty(given(simpleParams(params)));
}

/** Returns the same for the record with all parameters. The deployment checks their values. */
export function allWhisperParams({ params, ...options }: TranscribeOptions): Record<string, unknown> | undefined {
  const { clipTimestamps: clips, suppressTokens: suppressed } = options;
  const all = {
    ...simpleParams(params),
    prefix: options.prefix,
    hotwords: options.hotwords,
    condition_on_previous_text: options.conditionOnPreviousText,
    prompt_reset_on_temperature: options.promptResetOnTemperature,
    patience: options.patience,
    compression_ratio_threshold: options.compressionRatioThreshold,
    repetition_penalty: options.repetitionPenalty,
    no_repeat_ngram_size: options.noRepeatNgramSize,
    suppress_blank: options.suppressBlank,
    suppress_tokens: suppressed && Array.from(suppressed),
    max_new_tokens: options.maxNewTokens,
    chunk_length: options.chunkLength,
    clip_timestamps: clips.length > 0 ? Array.from(clips) : undefined,
    hallucination_silence_threshold: options.hallucinationSilenceThreshold,
    language_detection_threshold: options.languageDetectionThreshold,
    language_detection_segments: options.languageDetectionSegments,
    all_language_probs: options.allLanguageProbs,
    logprobs: options.logprobs,
  };
  return unlessEmpty(withMore(all, options.more, 'more'));
}

const unlessEmpty = (params: Record<string, unknown>): Record<string, unknown> | undefined =>
  Object.keys(params).length > 0 ? params : undefined;

function simpleParams(params: Params): Record<string, unknown> {
  return {
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
  };
}

export function witTranscription({ segments, transcription, transcription_info: info }: AsrOutput): Transcription {
  return {
    text: transcription.text,
    info: { language: info.language, languageConfidence: info.language_confidence },
    segments: segments.map(witSegment),
  };
}

export function witDetailedTranscription(output: AsrOutput): DetailedTranscription {
  const { segments, transcription, transcription_info: info } = output;
  return {
    text: transcription.text,
    info: { language: info.language, languageConfidence: info.language_confidence },
    allLanguageProbs: info.all_language_probs ?? [],
    segments: segments.map((segment) => ({
      segment: witSegment(segment),
      tokens: (segment.tokens ?? []).map(witTokenScore),
    })),
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
