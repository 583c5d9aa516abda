import type { NativeWhisperEngine, WhisperNativeParams } from '../../../../native/lib/index.ts';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import { withoutNull } from '../../../base/core/json/without-null.ts';
import { BatchedWhisperParams, type VadOptions, type VadSegment, WhisperParams } from '../../../base/schemas/index.ts';
import { whisperLanguage } from '../../../base/transcripts/index.ts';

/** Characters of a wrong language that a message shows. */
const MOST_SHOWN = 40;

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

type Clip = NonNullable<Parts['clips']>[number];

/** The probability at which speech begins. */
const DEFAULT_THRESHOLD = 0.5;
/** Of the audio that replicas get. */
const SAMPLES_PER_SECOND = 16_000;
/** The engine takes no larger places of samples, and no audio is so long. */
const MOST_SAMPLES = 1e12;

/** Returns the parameters of a call. Throws a `ValidationError` for what the model cannot do. */
export function requested(given: unknown, model: WhisperModelFacts): RequestedTranscription {
  return checked(WhisperParams.parse(given ?? {}), model);
}

/** Like {@link requested}, for audio in chunks. `parts` names the chunks. */
export function requestedInChunks(given: unknown, parts: Parts, model: WhisperModelFacts): RequestedTranscription {
  const params = BatchedWhisperParams.parse(given ?? {});
  if (parts.clips && params.vad_parameters != null)
    throw noSearch(params.vad_parameters, '`vad_segments` says where somebody speaks');
  const { native, ...rest } = checked({ ...params, vad_filter: true }, model);
  return { ...rest, native: { ...native, ...parts } };
}

/** Returns segments as parts of an audio, in samples. Throws a `ValidationError` for one that ends before it begins. */
export function clipsOf(segments: readonly VadSegment[]): readonly Clip[] {
  return segments.map(({ time_interval: time }, index) => {
    if (time.end < time.start)
      throw invalid(['vad_segments', index, 'time_interval'], time, 'it ends before it begins');
    return clip(time);
  });
}

function checked(params: WhisperParams, { name, info }: WhisperModelFacts): RequestedTranscription {
  const language = params.language == null ? undefined : whisperLanguage(params.language);
  if (language === null) {
    const shown = JSON.stringify(params.language?.slice(0, MOST_SHOWN));
    const problem =
      `${shown} is not a language that Whisper knows: give a code such as "en" or a name such as ` +
      `"english"; leave it out to detect the language from the speech`;
    throw invalid(['params', 'language'], params.language, problem);
  }
  if (params.task === 'translate' && !info.multilingual) {
    const problem = `the model ${name} knows only English, so it cannot translate; deploy a multilingual size`;
    throw invalid(['params', 'task'], params.task, problem);
  }
  if (params.multilingual && language !== undefined) {
    const problem = 'it finds the language of each part, so leave out `language`';
    throw invalid(['params', 'multilingual'], params.multilingual, problem);
  }
  if (params.multilingual && !info.multilingual) {
    const problem = `the model ${name} knows only English; deploy a multilingual size`;
    throw invalid(['params', 'multilingual'], params.multilingual, problem);
  }
  if (params.multilingual && params.all_language_probs) {
    const problem = 'with `multilingual` each part has its own language, so no part decides the language of all';
    throw invalid(['params', 'all_language_probs'], params.all_language_probs, problem);
  }
  const silence = params.hallucination_silence_threshold;
  if (silence != null && !params.word_timestamps) {
    const problem = 'it needs the times of words: set `word_timestamps` to true';
    throw invalid(['params', 'hallucination_silence_threshold'], silence, problem);
  }
  checkSearch(params);
  const knownLanguage = info.multilingual ? language : 'en';
  return { native: nativeParams(params, knownLanguage), channels: params.channels, knownLanguage };
}

/** Refuses settings of a search for speech that does not take place. */
function checkSearch({ vad_parameters: rules, vad_filter: isSearched, clip_timestamps: clips }: WhisperParams): void {
  if (rules == null) return;
  if (!isSearched) throw noSearch(rules, '`vad_filter` is false');
  if (clips != null && clipsAt(clips)) throw noSearch(rules, '`clip_timestamps` names the parts to transcribe');
  const { threshold, neg_threshold: lower } = rules;
  if (lower == null || lower <= (threshold ?? DEFAULT_THRESHOLD)) return;
  const problem = `it must be at most \`threshold\`, which is ${threshold ?? DEFAULT_THRESHOLD}`;
  throw invalid(['params', 'vad_parameters', 'neg_threshold'], lower, problem);
}

const noSearch = (rules: VadOptions, why: string): AanaError =>
  invalid(['params', 'vad_parameters'], rules, `no speech is searched for, because ${why}; leave it out`);

function speechRules({
  vad_parameters: rules,
  chunk_length: longest,
}: WhisperParams): NonNullable<WhisperNativeParams['speech']> {
  const seconds = (milliseconds: number | null | undefined): number | null | undefined =>
    milliseconds == null ? milliseconds : milliseconds / 1000;
  const threshold = rules?.threshold;
  return withoutNull({
    threshold,
    negThreshold: rules?.neg_threshold ?? (threshold == null ? threshold : lowerThreshold(threshold)),
    minSpeechS: seconds(rules?.min_speech_duration_ms),
    maxSpeechS: rules?.max_speech_duration_s,
    minSilenceS: seconds(rules?.min_silence_duration_ms),
    padS: seconds(rules?.speech_pad_ms),
    maxWindowS: longest,
  });
}

/** Returns the probability at which speech ends, as faster-whisper does. */
const lowerThreshold = (threshold: number): number => Math.min(threshold, Math.max(threshold - 0.15, 0.01));

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
    languageDetectionThreshold: params.language_detection_threshold,
    hallucinationSilenceThreshold: params.hallucination_silence_threshold,
    clips: clipsAt(params.clip_timestamps ?? []),
  };
  return {
    language: knownLanguage ?? 'auto',
    translate: params.task === 'translate',
    multilingual: params.multilingual,
    languageDetectionSegments: params.language_detection_segments,
    allLanguageProbs: params.all_language_probs,
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
    logprobs: params.logprobs,
    vad: params.vad_filter || optional.clips !== undefined,
    speech: speechRules(params),
  };
}

/** Returns the parts that `clip_timestamps` names; undefined for the whole audio. Throws a `ValidationError`. */
function clipsAt(given: NonNullable<WhisperParams['clip_timestamps']>): Parts['clips'] {
  const times = typeof given === 'string' ? given.split(',').map(Number) : given;
  if (times.length === 0 || (times.length === 1 && times[0] === 0)) return undefined;
  return Array.from({ length: Math.ceil(times.length / 2) }, (_, index) => {
    const [start = 0, end] = times.slice(2 * index, 2 * index + 2);
    if (end !== undefined && end < start)
      throw invalid(['params', 'clip_timestamps'], given, `the part from ${start} ends before it begins, at ${end}`);
    return clip({ start, end });
  });
}

/** Returns a part of an audio in samples. */
function clip({ start, end }: { readonly start: number; readonly end?: number | undefined }): Clip {
  const at = (seconds: number): number => Math.min(MOST_SAMPLES, Math.round(seconds * SAMPLES_PER_SECOND));
  return { begin: at(start), ...(end !== undefined && { end: at(end) }) };
}

function invalid(loc: readonly (string | number)[], input: unknown, msg: string): AanaError {
  const entry = { type: 'value_error', loc, msg, input };
  return fail('ValidationError', `${loc.join('.')}: ${msg}`, { data: [entry] });
}
