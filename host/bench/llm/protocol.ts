/** A completion as the benchmark asks for it, of every server. It is greedy and has exactly `n_predict` tokens. */
export interface CompletionRequest {
  readonly prompt: string;
  readonly n_predict: number;
  /** A JSON Schema for the answer, which then may be shorter. */
  readonly json_schema?: Readonly<Record<string, unknown>>;
  /** Name of the adapter. Only aana-host knows it. */
  readonly adapter?: string | undefined;
  /** Asks aana-host for the margin of each token. */
  readonly margins?: boolean;
}

export interface Completion {
  readonly text: string;
  /** Number of events with text. */
  readonly pieces: number;
  /** Milliseconds from the request to the first text, and to the end. */
  readonly firstMs: number;
  readonly ms: number;
  /** As the server reports it; NaN where it does not. */
  readonly completionTokens: number;
  /** Tokens of the prompt, as the server reports them; NaN where it does not. */
  readonly promptTokens: number;
  /** Those of them that needed no computing, as the server reports them; NaN where it does not. */
  readonly reusedTokens: number;
  /**
   * The tokens, if the request asks for margins. `text` has one character for each byte. Of a server that tells no
   * tokens, these are the pieces of its stream, which are its tokens but where a character has several; their margins
   * are NaN.
   */
  readonly tokens: readonly { readonly text: string; readonly margin: number }[];
}
