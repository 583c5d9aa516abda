import * as z from 'zod';

/** The tasks whose models have an encoder and a decoder, and generate texts. */
export const SEQ2SEQ_TASKS = ['summarization', 'translation', 'image-to-text'] as const;

const GENERATION = SEQ2SEQ_TASKS.map((task) => `\`${task}\``).join(', ');
const MOST_TOKENS = 4096;

const language = z.string().min(1).max(64);

/** Arguments of a call, and `generation_kwargs` of a configuration. */
export const seq2seqArguments = {
  max_new_tokens: z
    .int()
    .min(1)
    .max(MOST_TOKENS)
    .nullish()
    .describe(`${GENERATION}: most tokens of an answer. The limit of the model applies too. Default: 256.`),
  min_new_tokens: z
    .int()
    .min(0)
    .max(MOST_TOKENS)
    .nullish()
    .describe(`${GENERATION}: tokens before which an answer does not end. Default: 0.`),
  no_repeat_ngram_size: z
    .int()
    .min(0)
    .max(100)
    .nullish()
    .describe(`${GENERATION}: so many tokens in a row come at most once. 0 is off. Default: what the model states.`),
  repetition_penalty: z
    .number()
    .min(0.1)
    .max(10)
    .nullish()
    .describe(`${GENERATION}: above 1, tokens of the answer come less often again. Default: what the model states.`),
  num_beams: z
    .literal(1, { error: 'must be 1, because Transformers.js has no beam search' })
    .nullish()
    .describe(`${GENERATION}: 1. The number that a model states is not used.`),
  do_sample: z
    .literal(false, { error: 'must be false: the likeliest token is chosen' })
    .nullish()
    .describe(`${GENERATION}: false. The likeliest token is always chosen.`),
  truncation: z
    .boolean()
    .nullish()
    .describe('`summarization`, `translation`: whether a text that is too long is cut. Default: it is refused.'),
  src_lang: language.nullish().describe('`translation`: the language of the text, if the model has several.'),
  tgt_lang: language.nullish().describe('`translation`: the language to translate into, if the model has several.'),
};

/** Keys of a configuration that belong to these tasks. */
export const seq2seqKeys = {
  generation_kwargs: z
    .strictObject(seq2seqArguments)
    .optional()
    .describe(`${GENERATION}: arguments of \`call\` that a call does not set.`),
};
