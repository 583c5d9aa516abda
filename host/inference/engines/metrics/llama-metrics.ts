import type { LlamaCounts } from '../../../../native/lib/index.ts';
import type { ReplicaMetric } from '../../rpc/index.ts';
import { computed, present, running, stepsMade, tokensOfStep, total, waiting } from './measured.ts';
import type { WaitTimes } from './wait-times.ts';

/** Measures an engine for texts. */
export class LlamaMetrics {
  readonly #counts: () => LlamaCounts;
  readonly #waits: WaitTimes;
  #last = { steps: 0, computedTokens: 0 };

  constructor(counts: () => LlamaCounts, waits: WaitTimes) {
    this.#counts = counts;
    this.#waits = waits;
  }

  report(): readonly ReplicaMetric[] {
    const now = this.#counts();
    const steps = now.steps - this.#last.steps;
    const perStep = (now.computedTokens - this.#last.computedTokens) / steps;
    this.#last = now;
    return [
      waiting(now.waiting),
      running(now.running),
      this.#waits.report(),
      total('tokens.prompt', '{token}', now.promptTokens, 'Prompt tokens of the requests that began.'),
      total('tokens.reused', '{token}', now.reusedTokens, 'Prompt tokens that were computed before.'),
      total('tokens.restored', '{token}', now.restoredTokens, 'Those prompt tokens that came from disk.'),
      total('tokens.kept', '{token}', now.keptTokens, 'Those prompt tokens that came from the prefix memory.'),
      total('tokens.generated', '{token}', now.generatedTokens, 'Tokens of answers.'),
      total('media.encoded', '{medium}', now.encodedMedia, 'Images and audio of prompts that were encoded.'),
      total('media.kept', '{medium}', now.keptMedia, 'Those whose embeddings an earlier request had left.'),
      computed(now.computedTokens),
      total('tokens.guessed', '{token}', now.guessedTokens, 'Tokens that speculation guessed.'),
      total('tokens.accepted', '{token}', now.acceptedTokens, 'Guessed tokens that came true.'),
      stepsMade(now.steps),
      ...(steps > 0 ? [tokensOfStep(perStep)] : []),
      total('passes', '{pass}', now.ubatches, 'Passes over the weights.'),
      total('prefill.time', 's', now.prefillSeconds, 'Time of the steps for tokens of prompts.'),
      total('decode.time', 's', now.decodeSeconds, 'Time of the steps for tokens of answers.'),
      total('preemptions', '{request}', now.preemptions, 'Requests that lost their cells and were computed again.'),
      total('pauses', '{pause}', now.pauses, 'Times that a request made room for one of another user.'),
      total('shifts', '{shift}', now.shifts, 'Times that a full context forgot a part of a request that goes on.'),
      total('prefixes.hits', '{request}', now.keptHits, 'Requests whose beginning came from the prefix memory.'),
      total(
        'prefixes.misses',
        '{request}',
        now.keptMisses,
        'Requests with a beginning of 32 tokens or more that it did not have.',
      ),
      present('prefixes.kept', '{prefix}', now.keptStates, 'Texts in the prefix memory.'),
      present('prefixes.bytes', 'By', now.keptBytes, 'Bytes of the prefix memory.'),
      present('cells.used', '{cell}', now.usedCells, 'Cells of the context that have keys and values.'),
      present('cells.total', '{cell}', now.cells, 'Cells of the context.'),
    ];
  }
}
