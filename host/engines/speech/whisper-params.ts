import type { NativeWhisperEngine, WhisperNativeParams } from '../../../native/lib/index.ts';
import { AanaError } from '../../core/errors.ts';
import { withoutNull } from '../../core/json/without-null.ts';
import { BatchedWhisperParams, type VadSegment, WhisperParams } from '../../schemas/index.ts';
import { WHISPER_LANGUAGES } from '../whisper-languages.ts';

/** The model for which parameters are checked. */
export interface WhisperModelFacts {
  readonly name: string;
  readonly info: NativeWhisperEngine['info'];
}

/** Parameters in the forms that a replica needs. */
export interface RequestedTranscription {
  readonly native: WhisperNativeParams;
  readonly channels: WhisperParams['channels'];
  /** The language if it needs no detection. A model for English always transcribes English. */
  readonly knownLanguage: string | undefined;
}

/** Which parts of the audio are transcribed, beside those that the parameters select. */
export type Parts = Pick<WhisperNativeParams, 'clips' | 'maxWindows'>;

/** Returns the parameters of a call. Throws a `ValidationError` for what the model cannot do. */
export function requested(given: unknown, model: WhisperModelFacts): RequestedTranscription {
  return checked(WhisperParams.parse(given ?? {}), model);
}

/** Like {@link requested}, for audio in chunks. `parts` names the chunks. */
export function requestedInChunks(given: unknown, parts: Parts, model: WhisperModelFacts): RequestedTranscription {
  const { native, ...rest } = checked({ ...BatchedWhisperParams.parse(given ?? {}), vad_filter: true }, model);
  return { ...rest, native: { ...native, ...parts } };
}

/** Returns segments as parts of an audio, in samples. Throws a `ValidationError` for one that ends before it begins. */
export function clipsOf(segments: readonly VadSegment[], samplesPerSecond: number): NonNullable<Parts['clips']> {
  return segments.map(({ time_interval: { start, end } }, index) => {
    if (end < start)
      throw invalid(['vad_segments', index, 'time_interval'], { start, end }, 'it ends before it begins');
    return { begin: Math.floor(start * samplesPerSecond), end: Math.ceil(end * samplesPerSecond) };
  });
}

function checked(params: WhisperParams, { name, info }: WhisperModelFacts): RequestedTranscription {
  const { language } = params;
  if (language != null && !WHISPER_LANGUAGES.has(language)) {
    const problem = `"${language}" is not a language code that Whisper knows; leave it out to detect the language from the speech`;
    throw invalid(['params', 'language'], language, problem);
  }
  if (params.task === 'translate' && !info.multilingual) {
    const problem = `the model ${name} knows only English, so it cannot translate; deploy a multilingual size`;
    throw invalid(['params', 'task'], params.task, problem);
  }
  if (params.multilingual && language != null) {
    const problem = 'it finds the language of each part, so leave out `language`';
    throw invalid(['params', 'multilingual'], params.multilingual, problem);
  }
  if (params.multilingual && !info.multilingual) {
    const problem = `the model ${name} knows only English; deploy a multilingual size`;
    throw invalid(['params', 'multilingual'], params.multilingual, problem);
  }
  const knownLanguage = info.multilingual ? (language ?? undefined) : 'en';
  return { native: nativeParams(params, knownLanguage), channels: params.channels, knownLanguage };
}

function nativeParams(params: WhisperParams, knownLanguage: string | undefined): WhisperNativeParams {
  const optional = {
    initialPrompt: params.initial_prompt,
    prefix: params.prefix,
    hotwords: params.hotwords,
    logProbThreshold: params.log_prob_threshold,
    noSpeechThreshold: params.no_speech_threshold,
    compressionRatioThreshold: params.compression_ratio_threshold,
    lengthPenalty: params.length_penalty,
    repetitionPenalty: params.repetition_penalty,
    maxInitialTimestamp: params.max_initial_timestamp,
    maxNewTokens: params.max_new_tokens,
    prependPunctuations: params.prepend_punctuations,
    appendPunctuations: params.append_punctuations,
  };
  return {
    language: knownLanguage ?? 'auto',
    translate: params.task === 'translate',
    multilingual: params.multilingual,
    conditionOnPreviousText: params.condition_on_previous_text,
    promptResetOnTemperature: params.prompt_reset_on_temperature,
    beamSize: params.beam_size,
    patience: params.patience,
    bestOf: params.best_of,
    noRepeatNgramSize: params.no_repeat_ngram_size,
    suppressBlank: params.suppress_blank,
    suppressTokens: params.suppress_tokens ?? [],
    temperatures: [params.temperature].flat(),
    ...withoutNull(optional),
    withoutTimestamps: params.without_timestamps,
    wordTimestamps: params.word_timestamps,
    vad: params.vad_filter,
  };
}

function invalid(loc: readonly (string | number)[], input: unknown, msg: string): AanaError {
  const entry = { type: 'value_error', loc, msg, input };
  return new AanaError('ValidationError', 'invalid-input', `${loc.join('.')}: ${msg}`, { data: [entry] });
}
