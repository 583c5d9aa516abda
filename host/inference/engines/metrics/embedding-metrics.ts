import type { LlamaEmbeddingCounts } from '../../../../native/lib/index.ts';
import type { ReplicaMetric } from '../../rpc/index.ts';
import { computed, recent, running, stepsMade, tokensOfStep, total, waiting } from './measured.ts';
import type { WaitTimes } from './wait-times.ts';

/** Measures an engine for embeddings or scores. */
export class EmbeddingMetrics {
  readonly #counts: () => LlamaEmbeddingCounts;
  readonly #waits: WaitTimes;
  #last = { steps: 0, texts: 0, tokens: 0 };

  constructor(counts: () => LlamaEmbeddingCounts, waits: WaitTimes) {
    this.#counts = counts;
    this.#waits = waits;
  }

  report(): readonly ReplicaMetric[] {
    const now = this.#counts();
    const last = this.#last;
    const steps = now.steps - last.steps;
    this.#last = now;
    return [
      waiting(now.waiting),
      running(now.running),
      this.#waits.report(),
      computed(now.tokens),
      total('texts', '{text}', now.texts, 'Texts whose vectors or scores were computed.'),
      stepsMade(now.steps),
      ...(steps > 0
        ? [
            tokensOfStep((now.tokens - last.tokens) / steps),
            recent(
              'step.texts',
              '{text}',
              (now.texts - last.texts) / steps,
              'Mean texts of a step since the last report.',
            ),
          ]
        : []),
    ];
  }
}
