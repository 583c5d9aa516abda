import {
  type CallContext,
  configClass,
  Deployment,
  type DeploymentContext,
  type Input,
  method,
  streamingMethod,
  z,
} from 'aana-host/deployment';

/** The fields of `user_config`. */
export class SentimentConfig extends configClass(
  z.strictObject({
    positive: z
      .array(z.string())
      .default(['good', 'great', 'love', 'lovely', 'warm'])
      .describe('Words that count as positive.'),
    negative: z
      .array(z.string())
      .default(['bad', 'broken', 'late', 'poor', 'worn'])
      .describe('Words that count as negative.'),
    negations: z
      .array(z.string())
      .default(['not', 'never', 'no'])
      .describe('Words that reverse the meaning of the next word.'),
  }),
) {}

const Sentiment = z.strictObject({
  label: z.enum(['positive', 'neutral', 'negative']),
  score: z.number().min(-1).max(1).describe('From −1 (most negative) to 1 (most positive).'),
});
type Sentiment = z.infer<typeof Sentiment>;

/**
 * Finds out whether a text is positive or negative by counting words. A real deployment would load a model in
 * `applyConfig`; the rest would be the same. This file starts nothing when it is imported, because each replica process
 * imports it.
 */
export class SentimentDeployment extends Deployment<SentimentConfig> {
  static readonly module = import.meta.url;
  static readonly config = SentimentConfig;
  static readonly methods = {
    classify: method({
      description: 'Tells whether a text is positive, neutral or negative.',
      input: z.strictObject({ text: z.string().max(100_000) }),
      output: Sentiment,
    }),
    classify_sentences: streamingMethod({
      description: 'Classifies each sentence, one after the other.',
      input: z.strictObject({ text: z.string().max(100_000) }),
      output: z.strictObject({ sentence: z.string(), ...Sentiment.shape }),
    }),
  };

  #weights = new Map<string, number>();
  #negations = new Set<string>();

  override applyConfig({ positive, negative, negations }: SentimentConfig, { log }: DeploymentContext): void {
    this.#weights = new Map([
      ...positive.map((word) => [word, 1] as const),
      ...negative.map((word) => [word, -1] as const),
    ]);
    this.#negations = new Set(negations);
    log.info('sentiment is ready', { words: this.#weights.size });
  }

  async classify({ text }: Input<typeof SentimentDeployment, 'classify'>): Promise<Sentiment> {
    const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
    const weights = words.map(
      (word, at) => (this.#weights.get(word) ?? 0) * (this.#negations.has(words[at - 1] ?? '') ? -1 : 1),
    );
    const told = weights.filter((weight) => weight !== 0);
    const score = told.length === 0 ? 0 : told.reduce((sum, weight) => sum + weight, 0) / told.length;
    return { label: score > 0 ? 'positive' : score < 0 ? 'negative' : 'neutral', score };
  }

  async *classify_sentences(
    { text }: Input<typeof SentimentDeployment, 'classify_sentences'>,
    { signal }: CallContext,
  ): AsyncGenerator<Sentiment & { sentence: string }> {
    for (const [sentence] of text.matchAll(/[^.!?\s][^.!?]*[.!?]*/g)) {
      signal.throwIfAborted(); // the client has left
      yield { sentence, ...(await this.classify({ text: sentence })) };
    }
  }
}
