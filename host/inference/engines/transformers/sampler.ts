/** How tokens are chosen. The stages are those of llama.cpp's chain, in its order. */
export interface Sampling {
  /** 0: always the likeliest token. */
  readonly temperature: number;
  /** −1 turns it off. */
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  /** Over the tokens of prompt and answer; 1 is off. */
  readonly repetitionPenalty: number;
  /** Over the tokens of the answer. */
  readonly presencePenalty: number;
  readonly frequencyPenalty: number;
  /** Added to the logits of tokens. */
  readonly logitBias: readonly { readonly token: number; readonly bias: number }[];
  /** Tokens that are never chosen. */
  readonly never: readonly number[];
  /** Tokens that are not chosen before `minTokens` tokens. */
  readonly notBefore: readonly number[];
  readonly minTokens: number;
  readonly seed: number;
}

/** Logits of which none can be chosen: the model computes numbers that are not finite, or all tokens are forbidden. */
export class NoToken extends Error {}

interface Candidate {
  readonly token: number;
  readonly logit: number;
}

/** Chooses the tokens of one answer. */
export class Sampler {
  readonly #sampling: Sampling;
  readonly #random: () => number;
  readonly #ofPrompt: ReadonlySet<number>;
  /** How often the answer has each token. */
  readonly #counts = new Map<number, number>();
  #chosen = 0;

  constructor(sampling: Sampling, prompt: Iterable<number>) {
    this.#sampling = sampling;
    this.#random = randomOf(sampling.seed);
    this.#ofPrompt = new Set(sampling.repetitionPenalty === 1 ? [] : prompt);
  }

  /** Returns the next token. Changes the logits. Throws `NoToken`. */
  choose(logits: Float32Array): number {
    this.#change(logits);
    const { temperature } = this.#sampling;
    const token = temperature === 0 ? likeliest(logits) : this.#draw(logits, temperature);
    this.#counts.set(token, (this.#counts.get(token) ?? 0) + 1);
    this.#chosen += 1;
    return token;
  }

  #change(logits: Float32Array): void {
    const { logitBias, repetitionPenalty, presencePenalty, frequencyPenalty, never, notBefore, minTokens } =
      this.#sampling;
    for (const { token, bias } of logitBias) logits[token] = (logits[token] ?? 0) + bias;
    if (repetitionPenalty !== 1)
      for (const token of new Set([...this.#ofPrompt, ...this.#counts.keys()])) {
        const logit = logits[token] ?? 0;
        logits[token] = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty;
      }
    for (const [token, count] of this.#counts)
      logits[token] = (logits[token] ?? 0) - presencePenalty - count * frequencyPenalty;
    for (const token of never) logits[token] = -Infinity;
    if (this.#chosen < minTokens) for (const token of notBefore) logits[token] = -Infinity;
  }

  #draw(logits: Float32Array, temperature: number): number {
    const { topK, topP, minP } = this.#sampling;
    const best = logits[likeliest(logits)] ?? 0;
    // Less likely tokens never remain, so most of the vocabulary needs no sorting.
    const least = minP > 0 ? best + Math.log(minP) : -Infinity;
    const sorted: Candidate[] = [];
    for (const [token, logit] of logits.entries()) if (logit > -Infinity) sorted.push({ token, logit });
    sorted.sort((a, b) => b.logit - a.logit || a.token - b.token);
    if (topK > 0) sorted.length = Math.min(sorted.length, topK);
    const kept = withinTopP(sorted, topP).filter(({ logit }) => logit >= least);
    const weights = kept.map(({ logit }) => Math.exp((logit - best) / temperature));
    let rest = this.#random() * weights.reduce((sum, weight) => sum + weight, 0);
    const drawn = kept.find((_, at) => (rest -= weights[at] ?? 0) < 0) ?? kept.at(-1);
    return drawn!.token;
  }
}

/** Returns the likeliest candidates that are as likely as `topP` together, at least one. */
function withinTopP(sorted: readonly Candidate[], topP: number): readonly Candidate[] {
  if (topP >= 1) return sorted;
  const best = sorted[0]?.logit ?? 0;
  const weights = sorted.map(({ logit }) => Math.exp(logit - best));
  const enough = topP * weights.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  const last = weights.findIndex((weight) => (sum += weight) >= enough);
  return last < 0 ? sorted : sorted.slice(0, last + 1);
}

function likeliest(logits: Float32Array): number {
  let best = -1;
  let most = -Infinity;
  for (let token = 0; token < logits.length; token += 1) {
    const logit = logits[token]!;
    if (logit > most) [best, most] = [token, logit];
    else if (Number.isNaN(logit)) throw new NoToken('it computes logits that are not numbers');
  }
  if (most === -Infinity || most === Infinity)
    throw new NoToken(most === Infinity ? 'it computes logits that are infinite' : 'no token may be chosen');
  return best;
}

/** Returns a generator of numbers from 0 up to 1: Mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
