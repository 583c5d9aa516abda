/** How the tokens of a request are chosen. What is absent is off. */
export interface LlamaSampling {
  /** 0: always the likeliest token. */
  readonly temperature: number;
  /** −1 turns it off. */
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly typicalP?: number;
  /** Over the tokens of prompt and completion; 1: off. */
  readonly repetitionPenalty: number;
  /** Over the tokens of the completion. */
  readonly presencePenalty?: number;
  /** Over the tokens of the completion. */
  readonly frequencyPenalty?: number;
  /** Against repeated sequences. `lastTokens` −1: all. */
  readonly dry?: {
    readonly multiplier: number;
    readonly base?: number;
    readonly allowedLength?: number;
    readonly lastTokens?: number;
    readonly sequenceBreakers?: readonly string[];
  };
  readonly xtc?: { readonly probability: number; readonly threshold: number };
  /** Takes the place of the stages from top-k to XTC. */
  readonly mirostat?: { readonly version: 0 | 1 | 2; readonly tau?: number; readonly eta?: number };
  /** Added to the logits of tokens. */
  readonly logitBias?: readonly { readonly token: number; readonly bias: number }[];
  /** Sequences of tokens that are not completed. */
  readonly badWords?: readonly string[];
  readonly seed: number;
  readonly maxTokens: number;
  /** Tokens before which the completion does not end by itself. */
  readonly minTokens?: number;
  /** Whether the model's own end tokens are never chosen. */
  readonly ignoreEos?: boolean;
  readonly stop: readonly string[];
  /** Tokens that end the completion; they are no part of it. */
  readonly stopTokenIds?: readonly number[];
  /** Number of the likeliest tokens in the `scores` of each token. Absent: texts have no scores. */
  readonly logprobs?: number;
  /**
   * Number of the likeliest tokens in the `promptScores` of each token of the prompt. Absent: they are not told. The
   * prompt is then computed as a whole, also where it was cached, in steps of at most 16 tokens.
   */
  readonly promptLogprobs?: number;
  /**
   * Whether the logits do not depend on other requests. The sequence is then computed alone in steps of a fixed shape,
   * without guessed tokens. Needs a cache for each sequence: with `totalCells` the request fails with
   * `invalid-sampling`. Default: false.
   */
  readonly reproducible?: boolean;
  readonly grammar?: LlamaGrammar;
}

/** A token with its natural log-probability, as the model gave it. */
export interface LlamaScoredToken {
  readonly id: number;
  /** UTF-8, maybe not whole characters. Control tokens have theirs, too. */
  readonly bytes: Uint8Array;
  /** Minus infinity for a token that the model excludes. */
  readonly logprob: number;
}

/** A token of a completion, and the likeliest tokens at its place. */
export interface LlamaTokenScores extends LlamaScoredToken {
  readonly top: readonly LlamaScoredToken[];
}

/** A token of a prompt. The first one has no score, because no token is before it. */
export interface LlamaPromptToken {
  readonly id: number;
  readonly bytes: Uint8Array;
  readonly logprob?: number;
  /** Its place among all tokens by their probabilities; 1 for the likeliest. */
  readonly rank?: number;
  readonly top?: readonly LlamaScoredToken[];
}

/** What a grammar may quote: passages of whole words, within one text. */
export interface LlamaQuotable {
  /**
   * Each word ends with a line feed, and begins with a space if one stands before it. Words are as they come in a
   * completion: in JSON with its escapes. At most 64 MiB in UTF-8 together.
   */
  readonly texts: readonly string[];
  /** Fewest words of a quotation, from 1 on. */
  readonly minWords: number;
  /** Most words, `minWords` or more. Default: any number. */
  readonly maxWords?: number;
}

/** A grammar that the completion must meet. Where nothing can follow, the completion ends. */
export interface LlamaGrammar {
  /** In llama.cpp's notation (GBNF). */
  readonly text: string;
  /** The rule that the completion meets. Default: `root`. */
  readonly root?: string;
  /** The sources of `%quote` in the text. */
  readonly quotable?: LlamaQuotable;
  /** Whether a completion that `maxTokens` cuts gets the shortest end that meets the grammar. Default: false. */
  readonly closes?: boolean;
}
