import * as z from 'zod/mini';
import { MAX_NAME } from './bounds.ts';
import { answerOf } from './answer-kinds.ts';
import { ScoredToken } from './chat.ts';
import { VadOptions } from './vad-options.ts';

/** Seconds from the start of the media. */
export const TimeInterval = z.strictObject({
  start: z.number().check(z.minimum(0), z.describe('Start in seconds.')),
  end: z.number().check(z.minimum(0), z.describe('End in seconds.')),
});
export type TimeInterval = z.infer<typeof TimeInterval>;

const confidence = z.number().check(z.minimum(0), z.maximum(1));

export const AsrWord = z.strictObject({
  word: z.string().check(z.describe('The word, with its leading space.')),
  speaker: z.nullable(z.string()),
  time_interval: TimeInterval,
  alignment_confidence: confidence,
});
export type AsrWord = z.infer<typeof AsrWord>;

export const AsrSegment = z.strictObject({
  text: z.string().check(z.describe('The text, with its leading space.')),
  time_interval: TimeInterval,
  confidence: z.nullable(confidence),
  no_speech_confidence: z.nullable(confidence),
  words: z.array(AsrWord),
  speaker: z.nullable(z.string()),
  language: z.optional(
    z.string().check(z.describe('Language code of this part. Absent unless `multilingual` was asked for.')),
  ),
  tokens: z.optional(
    z
      .array(ScoredToken)
      .check(z.describe('The tokens of the text, without those of times. Absent unless `logprobs` was asked for.')),
  ),
});
export type AsrSegment = z.infer<typeof AsrSegment>;

export const AsrTranscriptionInfo = z.strictObject({
  language: z.string().check(z.describe('Language code, or "silence" when there is no speech.')),
  language_confidence: confidence,
  all_language_probs: z.optional(
    z
      .array(z.strictObject({ language: z.string(), probability: confidence }))
      .check(
        z.describe(
          'All languages, the likeliest first. Absent unless they were asked for and the language was detected.',
        ),
      ),
  ),
});
export type AsrTranscriptionInfo = z.infer<typeof AsrTranscriptionInfo>;

export const AsrTranscription = z.strictObject({ text: z.string().check(z.describe('The full text.')) });
export type AsrTranscription = z.infer<typeof AsrTranscription>;

/** The result of `transcribe` and of `/video/transcribe`. */
export const AsrOutput = answerOf(
  'transcript',
  z.strictObject({
    segments: z.array(AsrSegment),
    transcription_info: AsrTranscriptionInfo,
    transcription: AsrTranscription,
  }),
);
export type AsrOutput = z.infer<typeof AsrOutput>;

/** The results of `transcribe_batch`: one element for each audio. */
export const AsrBatchOutput = answerOf(
  'transcripts',
  z.strictObject({
    segments: z.array(z.array(AsrSegment)),
    transcription_info: z.array(AsrTranscriptionInfo),
    transcription: z.array(AsrTranscription),
  }),
);
export type AsrBatchOutput = z.infer<typeof AsrBatchOutput>;

const temperature = z.number().check(z.minimum(0), z.maximum(1));

const optionalNumber = (minimum: number, maximum: number, description: string) =>
  z.optional(z.nullable(z.number().check(z.minimum(minimum), z.maximum(maximum), z.describe(description))));

const text = (description: string) =>
  z.optional(z.nullable(z.string().check(z.maxLength(4000), z.describe(description))));

const punctuation = (where: 'next' | 'previous') =>
  z.optional(
    z.nullable(
      z
        .string()
        .check(
          z.maxLength(200),
          z.describe(`Characters that are joined to the ${where} word, with \`word_timestamps\`.`),
        ),
    ),
  );

/** Names and defaults are those of faster-whisper. */
export const WhisperParams = z.strictObject({
  language: z.optional(
    z.nullable(
      z
        .string()
        .check(z.maxLength(MAX_NAME), z.describe('Language code such as "en". Default: detected from the speech.')),
    ),
  ),
  multilingual: z._default(
    z
      .boolean()
      .check(
        z.describe('Find the language of each part of the speech, not only of the first one. Excludes `language`.'),
      ),
    false,
  ),
  language_detection_threshold: optionalNumber(
    0,
    1,
    'The first part of the speech whose language is likelier than this decides the language of all. Default: 0.5.',
  ),
  language_detection_segments: z._default(
    z
      .int()
      .check(
        z.minimum(1),
        z.maximum(100),
        z.describe(
          'Most parts of the speech, of up to 30 s, whose language is looked for. If none is likely enough, the ' +
            'language of most of them counts.',
        ),
      ),
    1,
  ),
  all_language_probs: z._default(
    z
      .boolean()
      .check(z.describe('Tell the probabilities of all languages where one is detected. Excludes `multilingual`.')),
    false,
  ),
  task: z._default(
    z.enum(['transcribe', 'translate']).check(z.describe('"translate" writes English, whatever the speech is in.')),
    'transcribe',
  ),
  initial_prompt: text('Text before each part of the speech. Names and terms are written as they stand there.'),
  prefix: text('Text that the first part of the speech begins with. The result lacks it.'),
  hotwords: text('Words that are likely, before each part of the speech. Not used for a part with a prefix.'),
  condition_on_previous_text: z._default(
    z
      .boolean()
      .check(
        z.describe(
          'Whether the text of a part is the prompt of the next one. The parts are then transcribed one after another.',
        ),
      ),
    false,
  ),
  prompt_reset_on_temperature: z._default(
    z
      .number()
      .check(
        z.minimum(0),
        z.maximum(1),
        z.describe('A text of a higher temperature is no prompt for `condition_on_previous_text`.'),
      ),
    0.5,
  ),
  beam_size: z._default(
    z.int().check(z.minimum(1), z.maximum(8), z.describe('Number of beams of the search; 1 is greedy and faster.')),
    5,
  ),
  patience: z._default(
    z
      .number()
      .check(
        z.minimum(0.1),
        z.maximum(10),
        z.describe('The search with beams ends when so many times `beam_size` texts have ended.'),
      ),
    1,
  ),
  best_of: z._default(
    z.int().check(z.minimum(1), z.maximum(8), z.describe('Number of candidates if the temperature is above 0.')),
    5,
  ),
  temperature: z._default(
    z
      .union([temperature, z.array(temperature).check(z.minLength(1), z.maxLength(16))])
      .check(
        z.describe('Sampling temperature, or a list of temperatures that are tried in turn while a text is unlikely.'),
      ),
    [0, 0.2, 0.4, 0.6, 0.8, 1],
  ),
  log_prob_threshold: optionalNumber(
    -100,
    0,
    'A text whose tokens have a lower mean log-probability is unlikely, and the next temperature is tried. ' +
      'Default: -1.',
  ),
  no_speech_threshold: optionalNumber(
    0,
    1,
    'An unlikely text is left out where the probability that nobody speaks is higher. Default: 0.6.',
  ),
  compression_ratio_threshold: optionalNumber(
    0,
    100,
    'A text that compression makes so many times shorter repeats itself, and the next temperature is tried. ' +
      'Default: 2.4.',
  ),
  length_penalty: optionalNumber(
    0,
    10,
    'The log-probability of a text is divided by its length to this power, where texts are compared. Default: 1.',
  ),
  repetition_penalty: optionalNumber(1, 10, 'Above 1, tokens that the text has become less likely. Default: 1.'),
  no_repeat_ngram_size: z._default(
    z
      .int()
      .check(
        z.minimum(0),
        z.maximum(100),
        z.describe('No sequence of so many tokens occurs twice in a part. 0 permits all.'),
      ),
    0,
  ),
  suppress_blank: z._default(
    z.boolean().check(z.describe('Whether the text of a part never begins with a space or its end.')),
    true,
  ),
  suppress_tokens: z._default(
    z.nullable(
      z
        .array(z.int().check(z.minimum(-1), z.maximum(100_000)))
        .check(
          z.maxLength(1000),
          z.describe('Numbers of tokens that are never chosen; -1 stands for all signs that are not spoken.'),
        ),
    ),
    [-1],
  ),
  max_new_tokens: z.optional(
    z.nullable(
      z
        .int()
        .check(
          z.minimum(1),
          z.maximum(448),
          z.describe("The most tokens of a part's text. Default: half of the model's length, 224."),
        ),
    ),
  ),
  max_initial_timestamp: optionalNumber(0, 30, 'Latest start of the first segment of a part, in seconds. Default: 1.'),
  without_timestamps: z._default(
    z.boolean().check(z.describe('Take the times of segments from the windows of speech.')),
    false,
  ),
  word_timestamps: z._default(z.boolean().check(z.describe('Times of each word.')), false),
  logprobs: z._default(
    z.boolean().check(z.describe('Tell the tokens of each segment with their log-probabilities.')),
    false,
  ),
  hallucination_silence_threshold: optionalNumber(
    0.1,
    30,
    'Text that is probably invented is left out where this many seconds around it have no speech. Its words are ' +
      'very short, very long or unlikely. Needs `word_timestamps`.',
  ),
  prepend_punctuations: punctuation('next'),
  append_punctuations: punctuation('previous'),
  vad_filter: z._default(z.boolean().check(z.describe('Transcribe only the parts with voice activity.')), true),
  vad_parameters: z.optional(
    z.nullable(VadOptions.check(z.describe('How speech is found. Needs `vad_filter`; excludes `clip_timestamps`.'))),
  ),
  chunk_length: z.optional(
    z.nullable(
      z
        .number()
        .check(
          z.minimum(1),
          z.maximum(30),
          z.describe('Longest part of the speech that is transcribed in one piece, in seconds. Default: 30.'),
        ),
    ),
  ),
  clip_timestamps: z.optional(
    z.nullable(
      z
        .union([
          z.string().check(z.maxLength(20_000), z.regex(/^ *\d+(\.\d+)? *(, *\d+(\.\d+)? *)*$/)),
          z.array(z.number().check(z.minimum(0))).check(z.maxLength(2000)),
        ])
        .check(
          z.describe(
            'Seconds at which the parts to transcribe start and end: `start,end,start,end,…`, as a text or a list. ' +
              'The last end may be left out. `vad_filter` then has no effect. Default: "0", the whole audio.',
          ),
        ),
    ),
  ),
  channels: z._default(
    z
      .enum(['mix', 'separate'])
      .check(z.describe('"separate" transcribes each channel on its own and names the channel in `speaker`.')),
    'mix',
  ),
});
export type WhisperParams = z.infer<typeof WhisperParams>;

/** Parameters of `transcribe_in_chunks`. */
export const BatchedWhisperParams = z.extend(z.omit(WhisperParams, { vad_filter: true, clip_timestamps: true }), {
  without_timestamps: z._default(z.boolean().check(z.describe('Take the times of segments from the chunks.')), true),
});
export type BatchedWhisperParams = z.infer<typeof BatchedWhisperParams>;
