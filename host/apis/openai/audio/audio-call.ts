import type { Blame } from '../blame.ts';
import { invalidValue } from '../fields.ts';
import { includesLogprobs, type TranscriptionRequest, type TranslationRequest } from './audio-fields.ts';

const AUDIO_BLAME: Blame = {
  VideoReadingException: 'file',
  AudioReadingException: 'file',
  MediaTooLongException: 'file',
  params: '',
  'params.initial_prompt': 'prompt',
  'params.task': 'model',
  'params.vad_parameters': 'chunking_strategy',
  'params.vad_parameters.speech_pad_ms': 'chunking_strategy.prefix_padding_ms',
  'params.vad_parameters.min_silence_duration_ms': 'chunking_strategy.silence_duration_ms',
};

/** Where the arguments of the deployment are in a request. */
export const audioBlame = ({ response_format: format }: TranscriptionRequest | TranslationRequest): Blame => ({
  ...AUDIO_BLAME,
  'params.word_timestamps': format === 'diarized_json' ? 'response_format' : 'timestamp_granularities',
  'params.logprobs': format === 'verbose_json' ? 'response_format' : 'include',
});

/** The forms of a streamed answer. */
const STREAMED_FORMATS: readonly string[] = ['json', 'text', 'diarized_json'];

/**
 * Returns the `params` of `transcribe` and `transcribe_stream` for a request. Throws errors that name the wrong
 * parameter.
 */
export function transcriptionParams(request: TranscriptionRequest): Record<string, unknown> {
  const { language, stream, timestamp_granularities: times } = request;
  const format = request.response_format ?? 'json';
  if (times != null && format !== 'verbose_json')
    throw invalidValue('timestamp_granularities', 'it needs response_format to be verbose_json');
  if (stream === true && !STREAMED_FORMATS.includes(format))
    throw invalidValue('response_format', `a stream has the forms ${STREAMED_FORMATS.join(', ')}`);
  if (includesLogprobs(request) && format !== 'json')
    throw invalidValue('include', 'logprobs needs response_format to be json');
  return {
    ...sharedParams(request),
    ...(language != null && { language }),
    ...((times?.includes('word') || format === 'diarized_json') && { word_timestamps: true }),
    ...(includesLogprobs(request) && { logprobs: true }),
    ...vadParameters(request.chunking_strategy),
  };
}

/** Returns the `params` of `transcribe` for a translation. */
export function translationParams(request: TranslationRequest): Record<string, unknown> {
  return { ...sharedParams(request), task: 'translate' };
}

function sharedParams({
  prompt,
  temperature,
  hotwords,
  vad_filter: vad,
  response_format: format,
}: TranscriptionRequest | TranslationRequest): Record<string, unknown> {
  return {
    // Segments of verbose_json have their tokens.
    ...(format === 'verbose_json' && { logprobs: true }),
    ...(prompt != null && { initial_prompt: prompt }),
    // 0 means in OpenAI's API what the deployment does without a temperature: higher ones are tried after 0.
    ...(temperature != null && temperature !== 0 && { temperature }),
    ...(hotwords != null && { hotwords }),
    ...(vad != null && { vad_filter: vad }),
  };
}

function vadParameters(strategy: TranscriptionRequest['chunking_strategy']): Record<string, unknown> {
  if (strategy == null || strategy === 'auto') return {};
  const { threshold, prefix_padding_ms: padding, silence_duration_ms: silence } = strategy;
  const rules = {
    ...(threshold != null && { threshold }),
    ...(padding != null && { speech_pad_ms: padding }),
    ...(silence != null && { min_silence_duration_ms: silence }),
  };
  return Object.keys(rules).length > 0 ? { vad_parameters: rules } : {};
}
