import { delay, raceAbort } from '../../base/core/abort.ts';
import { AanaError, fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { ModelStore } from './store.ts';

/** A pull that runs, or how it ended. */
export interface PullState {
  readonly state: 'pulling' | 'done' | 'failed' | 'cancelled';
  /** What is done now, such as `downloading`; the reason of a pull that failed. */
  readonly text: string;
  /** Bytes of the current stage. */
  readonly bytes: number;
  /** Bytes of the whole stage, if they are known. */
  readonly total: number | undefined;
}

export interface ModelPullsOptions {
  readonly store: Pick<ModelStore, 'pull'>;
  readonly log: Logger;
  /** Ends all pulls. */
  readonly signal: AbortSignal;
}

interface Pull {
  state: PullState;
  readonly cancel: AbortController;
  readonly ended: Promise<void>;
}

/** Least time between two states that a follower of a pull gets. */
const INTERVAL_MS = 250;
/** Most pulls at the same time. Each has a connection and files of its own. */
const MAX_PULLS = 4;
/** Ended pulls whose reason is kept. */
const MAX_FAILURES = 100;

/**
 * The pulls of one host. Each runs until it ends or is cancelled, whether somebody follows it or not, and a model is
 * pulled once even if several callers ask for it.
 */
export class ModelPulls {
  readonly #options: ModelPullsOptions;
  readonly #pulls = new Map<string, Pull>();

  constructor(options: ModelPullsOptions) {
    this.#options = options;
  }

  /** The pulls that run, and those whose last attempt did not succeed, by the ids of their models. */
  states(): ReadonlyMap<string, PullState> {
    return new Map([...this.#pulls].map(([id, { state }]) => [id, state]));
  }

  /**
   * Pulls a model, or joins the pull that runs. The stream has its states, the last one when it has ended. The signal
   * ends the stream and not the pull. Throws `TooManyPulls`.
   */
  pull(id: string, signal: AbortSignal): AsyncGenerator<PullState, void, undefined> {
    this.#options.signal.throwIfAborted();
    const running = this.#pulls.get(id);
    return follow(running?.state.state === 'pulling' ? running : this.#begin(id), signal);
  }

  /** Ends a pull. Resolves when it has ended; false if none runs. What was downloaded is kept for the next attempt. */
  async cancel(id: string): Promise<boolean> {
    const pull = this.#pulls.get(id);
    if (pull?.state.state !== 'pulling') return false;
    pull.cancel.abort();
    await pull.ended;
    return true;
  }

  /** Forgets why the last pull of a model did not succeed. */
  forget(id: string): void {
    if (this.#pulls.get(id)?.state.state !== 'pulling') this.#pulls.delete(id);
  }

  #begin(id: string): Pull {
    const running = [...this.#pulls.values()].filter(({ state }) => state.state === 'pulling').length;
    if (running >= MAX_PULLS)
      throw fail('TooManyPulls', `${running} models are being pulled; wait until one of them has ended`);
    const { store, log } = this.#options;
    const cancel = new AbortController();
    const signal = AbortSignal.any([cancel.signal, this.#options.signal]);
    const run = async (): Promise<void> => {
      try {
        const { bytes } = await store.pull(id, {
          signal,
          onProgress: (done, total, stage = 'fetching') => {
            if (pull.state.state === 'pulling')
              pull.state = { state: 'pulling', text: stage, bytes: Math.round(done), total };
          },
        });
        pull.state = { state: 'done', text: '', bytes, total: bytes };
        this.#pulls.delete(id);
      } catch (error) {
        const reason = error instanceof AanaError ? error.message : 'an unexpected error; the log has its reason';
        const { bytes, total } = pull.state;
        pull.state = signal.aborted
          ? { state: 'cancelled', text: 'cancelled', bytes, total }
          : { state: 'failed', text: reason, bytes, total };
        this.#trim();
        if (!signal.aborted) log.warn('model not pulled', { model: id, error });
      }
    };
    const pull: Pull = {
      state: { state: 'pulling', text: 'starting', bytes: 0, total: undefined },
      cancel,
      ended: Promise.resolve().then(run),
    };
    this.#pulls.delete(id); // the newest one is the last
    this.#pulls.set(id, pull);
    return pull;
  }

  /** Forgets the oldest of many ended pulls. */
  #trim(): void {
    const ended = [...this.#pulls].filter(([, { state }]) => state.state !== 'pulling');
    for (const [id] of ended.slice(0, Math.max(0, ended.length - MAX_FAILURES))) this.#pulls.delete(id);
  }
}

async function* follow(pull: Pull, signal: AbortSignal): AsyncGenerator<PullState, void, undefined> {
  let shown: PullState | undefined;
  for (;;) {
    const { state } = pull;
    if (state !== shown) yield (shown = state);
    if (state.state !== 'pulling') return;
    await raceAbort(Promise.race([pull.ended, delay(INTERVAL_MS)]), signal);
  }
}
