import type { GgufSource } from './gguf-source.ts';

/** ggml's numbers of types of tokens. */
const CONTROL = 3;
const USER_DEFINED = 4;

/** Contractions of English, whatever their case. */
const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const wordsAndNumbers = (digits: string): string =>
  `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}${digits}` +
  String.raw`| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;

const byteLevel = (splits: boolean): object => ({
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: true,
  use_regex: splits,
});
const split = (pattern: string): object => ({
  type: 'Split',
  pattern: { Regex: pattern },
  behavior: 'Isolated',
  invert: false,
});

const LLAMA_3 = 'llama-bpe';
/** How texts are cut before merges, by the name in the GGUF file. */
const PRE_TOKENIZERS: Readonly<Record<string, readonly object[]>> = {
  smollm: [{ type: 'Digits', individual_digits: true }, byteLevel(true)],
  'gpt-2': [byteLevel(true)],
  qwen2: [split(wordsAndNumbers('')), byteLevel(false)],
  [LLAMA_3]: [split(wordsAndNumbers('{1,3}')), byteLevel(false)],
};

/** Texts of tokens that end an answer in any model, as in llama.cpp. */
const ENDS: ReadonlySet<string> = new Set([
  ...['<|eot_id|>', '<|im_end|>', '<|end|>', '<end_of_turn>', '<|endoftext|>', '</s>', '<|eom_id|>', '<EOT>'],
  ...['<|end_of_text|>', '<end_of_utterance>', '<eos>', '<｜end▁of▁sentence｜>'],
]);

/** The tokens that a model has for a purpose, by the words of Transformers. Undefined where it has none. */
export function specialTokens(source: GgufSource): Readonly<Record<'bos' | 'eos' | 'unk' | 'pad', number | undefined>> {
  const id = (role: string): number | undefined => tokenOf(source, role);
  return { bos: id('bos'), eos: id('eos'), unk: id('unknown'), pad: id('padding') };
}

/** Returns the tokens that end an answer. */
export function endTokens(source: GgufSource): number[] {
  const named = ['eos', 'eot', 'eom'].flatMap((role) => tokenOf(source, role) ?? []);
  const known = source.texts('tokens').flatMap((text, id) => (ENDS.has(text) ? [id] : []));
  return [...new Set([...named, ...known])];
}

/** Returns the token of a role, unless the vocabulary does not have it. */
function tokenOf(source: GgufSource, role: string): number | undefined {
  const id = source.number(`tokenizer.ggml.${role}_token_id`);
  return id !== undefined && source.texts('tokens')[id] !== undefined ? id : undefined;
}

/**
 * Returns `tokenizer.json` and `tokenizer_config.json` for the vocabulary of a GGUF file. Throws `ModelFormatError` for
 * a kind of vocabulary that is not known here.
 */
export function tokenizerFiles(source: GgufSource): { readonly tokenizer: object; readonly config: object } {
  const model = source.text('tokenizer.ggml.model');
  const pre = source.text('tokenizer.ggml.pre') ?? 'gpt-2';
  const cuts = Object.hasOwn(PRE_TOKENIZERS, pre) ? PRE_TOKENIZERS[pre] : undefined;
  if (model !== 'gpt2') source.refuse(`its vocabulary is of the kind ${model}, but only gpt2 is known`);
  if (!cuts)
    source.refuse(`its texts are cut as by ${pre}, but only ${Object.keys(PRE_TOKENIZERS).join(', ')} are known`);
  const tokens = source.texts('tokens');
  const types = source.tokenTypes();
  const roles = specialTokens(source);
  const textOf = (id: number | undefined): string | undefined => (id === undefined ? undefined : tokens[id]);
  // Without a statement, llama.cpp goes by the way in which texts are cut.
  const begins = source.number('tokenizer.ggml.add_bos_token') ?? Number(pre === LLAMA_3);
  const begin = begins === 1 ? textOf(roles.bos) : undefined;
  const added = tokens.flatMap((content, id) =>
    types[id] === CONTROL || types[id] === USER_DEFINED
      ? [
          {
            ...{ id, content, single_word: false, lstrip: false, rstrip: false },
            ...{ normalized: false, special: types[id] === CONTROL },
          },
        ]
      : [],
  );
  const tokenizer = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: { type: 'Sequence', pretokenizers: cuts },
    post_processor: begin === undefined ? byteLevel(true) : beginsWith(begin, roles.bos ?? 0),
    decoder: byteLevel(true),
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: '',
      end_of_word_suffix: '',
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: pre === LLAMA_3,
      vocab: Object.fromEntries(tokens.map((text, id) => [text, id])),
      merges: source.texts('merges'),
    },
  };
  const config = {
    tokenizer_class: 'PreTrainedTokenizerFast',
    model_max_length: source.requiredSize('context_length'),
    clean_up_tokenization_spaces: false,
    ...Object.fromEntries(
      Object.entries(roles).flatMap(([role, id]) => (id === undefined ? [] : [[`${role}_token`, textOf(id)]])),
    ),
    chat_template: source.text('tokenizer.chat_template'),
  };
  return { tokenizer, config };
}

/** A processor that puts a token before each text. */
const beginsWith = (token: string, id: number): object => ({
  type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: token, type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
  pair: [
    { SpecialToken: { id: token, type_id: 0 } },
    { Sequence: { id: 'A', type_id: 0 } },
    { SpecialToken: { id: token, type_id: 1 } },
    { Sequence: { id: 'B', type_id: 1 } },
  ],
  special_tokens: { [token]: { id: token, ids: [id], tokens: [token] } },
});
