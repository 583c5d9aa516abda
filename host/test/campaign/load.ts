import { AanaError } from '../../base/core/errors.ts';
import type { DeploymentManager } from '../../inference/deployments/index.ts';

/** The outcomes of the calls to one deployment. */
export interface LoadResult {
  answered: number;
  /** Streams that ended with `ReplicaLostError` after they had yielded values. Such streams are never repeated. */
  cut: number;
  /** Number of other failures, by description. */
  readonly failed: Map<string, number>;
}

const STREAM_VALUES = 8;

/** Makes calls and streams from several callers at a time and checks every value, until it is stopped. */
export class Load {
  readonly result: LoadResult = { answered: 0, cut: 0, failed: new Map() };
  readonly #manager: DeploymentManager;
  readonly #deployment: string;
  readonly #callers: Promise<unknown>;
  readonly #stopped = new AbortController();

  constructor(manager: DeploymentManager, deployment: string, callers = 4) {
    this.#manager = manager;
    this.#deployment = deployment;
    this.#callers = Promise.all(Array.from({ length: callers }, (_, caller) => this.#run(caller)));
  }

  async stop(): Promise<LoadResult> {
    this.#stopped.abort();
    await this.#callers;
    return this.result;
  }

  async #run(caller: number): Promise<void> {
    for (let turn = caller; !this.#stopped.signal.aborted; turn += 1)
      await (turn % 3 === 0 ? this.#stream() : this.#call(`${caller} ${turn}`));
  }

  async #call(text: string): Promise<void> {
    const handle = this.#manager.handle(this.#deployment);
    try {
      await handle.call('wait', { ms: 5 });
      const answer = await handle.call('echo', { text });
      if (JSON.stringify(answer) === JSON.stringify({ text, times: 1 })) this.result.answered += 1;
      else this.#fail(`the answer ${JSON.stringify(answer)}`);
    } catch (error) {
      this.#fail(describe(error));
    }
  }

  async #stream(): Promise<void> {
    const values: unknown[] = [];
    try {
      for await (const batch of this.#manager
        .handle(this.#deployment)
        .stream('count', { to: STREAM_VALUES, everyMs: 5 }))
        values.push(...batch);
      if (values.length === STREAM_VALUES && values.every((value, index) => value === index)) this.result.answered += 1;
      else this.#fail(`the values ${JSON.stringify(values)}`);
    } catch (error) {
      if (values.length > 0 && error instanceof AanaError && error.name === 'ReplicaLostError') this.result.cut += 1;
      else this.#fail(describe(error));
    }
  }

  #fail(what: string): void {
    this.result.failed.set(what, (this.result.failed.get(what) ?? 0) + 1);
  }
}

function describe(error: unknown): string {
  return error instanceof AanaError ? error.name : String(error);
}
