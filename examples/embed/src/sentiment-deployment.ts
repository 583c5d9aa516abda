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

/** What can be said in `user_config`. */
export class SentimentConfig extends configClass(
  z.strictObject({
    positive: z
      .array(z.string())
      .default(['good', 'great', 'love', 'lovely', 'warm'])
      .describe('Words that speak for it.'),
    negative: z
      .array(z.string())
      .default(['bad', 'broken', 'late', 'poor', 'worn'])
      .describe('Words that speak against it.'),
    negations: z
      .array(z.string())
      .default(['not', 'never', 'no'])
      .describe('Words that turn the next one into its opposite.'),
  }),
) {}

const Sentiment = z.strictObject({
  label: z.enum(['positive', 'neutral', 'negative']),
  score: z.number().min(-1).max(1).describe('−1 is as negative as can be, 1 as positive.'),
});
type Sentiment = z.infer<typeof Sentiment>;

/**
 * Says how people feel about something, by counting words. A real one would load a model in `applyConfig`; all else
 * would be the same. This file starts nothing when it is imported: each replica imports it, in a process of its own.
 */
export class SentimentDeployment extends Deployment<SentimentConfig> {
  static readonly module = import.meta.url;
  static readonly config = SentimentConfig;
  static readonly methods = {
    classify: method({
      description: 'Says whether a text is positive, neutral or negative.',
      input: z.strictObject({ text: z.string().max(100_000) }),
      output: Sentiment,
    }),
    classify_sentences: streamingMethod({
      description: 'The same for each sentence, one after the other.',
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
      signal.throwIfAborted(); // the client has gone
      yield { sentence, ...(await this.classify({ text: sentence })) };
    }
  }
}
