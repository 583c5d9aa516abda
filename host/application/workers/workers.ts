import type { ChildProcess } from 'node:child_process';
import type { Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { delay, raceAbort } from '../../base/core/abort.ts';
import { type Deferred, deferred } from '../../base/core/deferred.ts';
import { fail, fromErrorRecord } from '../../base/core/errors.ts';
import type { Logger, LogRecord } from '../../base/core/log/logger.ts';
import { endChild, spawnContained } from '../../base/processes/index.ts';
import { restartDelayMs } from '../../inference/replicas/slot/backoff.ts';
import type { LiveSettings, Question, Questions, ToController, ToWorker, WorkerStart } from './link.ts';

export interface WorkersOptions {
  /** Number of workers, besides the controller. */
  readonly count: number;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  /** The server whose connections the workers take in turns with this process. */
  readonly server: Server;
  /** What a worker begins with, apart from its number and the configuration. */
  readonly begin: Pick<WorkerStart, 'loadDefaults' | 'folders' | 'control'>;
  /** Returns the settings of now. */
  readonly settings: () => LiveSettings;
  /** Called with the notifications of one worker, which the others have got. */
  readonly onNotified: (message: string) => void;
  /** Called with the log lines of a worker. */
  readonly onLogged: (worker: number, records: readonly LogRecord[]) => void;
}

/** A worker's process. */
interface Running {
  readonly child: ChildProcess;
  isServing: boolean;
  readonly questions: Map<number, Deferred<unknown>>;
  /** Whether the others were asked to reload plugins while it started, so that it may have older ones. */
  missedReload: boolean;
}

const MAIN = fileURLToPath(new URL('./worker-main.js', import.meta.url));
/** Time in which a worker ends after its calls have ended. */
const END_MS = 5000;
/** A worker that has lived for so long starts again without a longer delay. */
const STABLE_MS = 60_000;
/** The longest wait for the answer to a question that needs no work. */
const ANSWER_MS = 2000;

/**
 * The further processes that serve an application behind the port of this one. They are its children and end with it.
 * One that ends is started again, after a delay that grows while it fails.
 */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #running = new Map<number, Running>();
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>[] = [];
  #asked = 0;

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** Starts the workers, and resolves when they serve. Rejects with the error of one that cannot start. */
  async start(signal: AbortSignal): Promise<void> {
    const started = Array.from({ length: this.#options.count }, (_, at) => {
      const serving = deferred();
      this.#ended.push(this.#keep(at + 1, serving));
      return serving.promise;
    });
    await raceAbort(Promise.all(started), signal);
  }

  /** Tells the workers of a notification of this process. */
  notify(message: string): void {
    this.#tellOthers(undefined, { type: 'notified', message });
  }

  /** Gives the workers the settings of now. */
  applySettings(): void {
    for (const running of this.#serving().values()) send(running, { type: 'settings', ...this.#options.settings() });
  }

  /** Returns the process ids of the workers that serve. */
  pids(): ReadonlyMap<number, number> {
    return new Map([...this.#serving()].map(([worker, { child }]) => [worker, child.pid ?? 0]));
  }

  /** Asks all workers that serve. Leaves out those that end, and those that need longer than `withinMs`. */
  async ask<Q extends Question>(
    question: Q,
    given: Questions[Q]['given'],
    withinMs: number = ANSWER_MS,
  ): Promise<Map<number, Questions[Q]['answer']>> {
    const answers = new Map<number, Questions[Q]['answer']>();
    const ask = async ([worker, running]: [number, Running]): Promise<void> => {
      try {
        answers.set(worker, (await this.#ask(running, question, given, withinMs)) as Questions[Q]['answer']);
      } catch (error) {
        this.#options.log.warn('a worker did not answer', { worker, question, error });
      }
    };
    if (question === 'reload') for (const one of this.#running.values()) one.missedReload = !one.isServing;
    await Promise.all([...this.#serving()].map(ask));
    return answers;
  }

  /** Lets the workers finish their requests for `graceMs`, and resolves when their processes have ended. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort(fail('ShuttingDown', 'the application is shutting down'));
    for (const running of this.#running.values()) {
      if (!running.isServing) {
        endChild(running.child, 0);
        continue;
      }
      send(running, { type: 'stop', graceMs });
      const timer = setTimeout(() => endChild(running.child, 0), graceMs + END_MS);
      running.child.once('exit', () => clearTimeout(timer));
    }
    await Promise.all(this.#ended);
  }

  #serving(): Map<number, Running> {
    return new Map([...this.#running].filter(([, { isServing }]) => isServing));
  }

  #tellOthers(than: Running | undefined, message: ToWorker): void {
    for (const running of this.#serving().values()) if (running !== than) send(running, message);
  }

  async #ask(running: Running, question: Question, given: unknown, withinMs: number): Promise<unknown> {
    const id = (this.#asked += 1);
    const answer = deferred<unknown>();
    running.questions.set(id, answer);
    send(running, { type: 'ask', id, question, given });
    try {
      return await raceAbort(answer.promise, AbortSignal.timeout(withinMs));
    } finally {
      running.questions.delete(id);
    }
  }

  /** Keeps one worker running until {@link stop}. A start that fails before `first` is resolved is not repeated. */
  async #keep(worker: number, first: Deferred<void>): Promise<void> {
    const { log } = this.#options;
    let isFirst = true;
    for (let failures = 0; !this.#stopping.signal.aborted;) {
      const serving = deferred();
      void serving.promise.then(first.resolve, () => {});
      const startedAt = performance.now();
      const how = await this.#run(worker, serving);
      const wasServing = await serving.promise.then(
        () => true,
        (error: unknown) => {
          if (isFirst) first.reject(error);
          else if (!this.#stopping.signal.aborted) log.error('worker not started', { worker, error });
          return false;
        },
      );
      if (this.#stopping.signal.aborted || (isFirst && !wasServing)) return;
      isFirst = false;
      failures = wasServing && performance.now() - startedAt > STABLE_MS ? 1 : failures + 1;
      const delayMs = restartDelayMs(failures, !wasServing);
      log.warn('worker ended; it starts again', {
        worker,
        how,
        served_s: Math.round((performance.now() - startedAt) / 1000),
      });
      await delay(delayMs, this.#stopping.signal).catch(() => {});
    }
  }

  /** Runs a worker once. Resolves with how its process ended. */
  #run(worker: number, serving: Deferred<void>): Promise<string> {
    const { env, begin, settings, server } = this.#options;
    const child = spawnContained(process.execPath, [...process.execArgv, '--enable-source-maps', MAIN], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env,
    });
    const running: Running = { child, isServing: false, questions: new Map(), missedReload: false };
    this.#running.set(worker, running);
    child.on('message', (message: ToController) => {
      if (message.type !== 'started') return this.#receive(worker, running, message);
      if (message.error) return serving.reject(fromErrorRecord(message.error));
      running.isServing = true;
      send(running, { type: 'settings', ...settings() }); // they may have changed during its start
      if (running.missedReload) send(running, { type: 'ask', id: 0, question: 'reload', given: {} }); // nobody waits
      child.send({ type: 'listen' } satisfies ToWorker, server, () => {});
      serving.resolve();
    });
    send(running, { type: 'start', worker, config: settings().config, ...begin });
    return new Promise((resolve) => {
      const end = (how: string): void => {
        this.#running.delete(worker);
        for (const { reject } of running.questions.values()) reject(fail('ConnectionClosed', 'the worker has ended'));
        serving.reject(fail('WorkerError', `worker ${worker} ended before it served: ${how}`));
        resolve(how);
      };
      child.once('error', ({ message }) => end(message));
      child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`));
    });
  }

  #receive(worker: number, running: Running, message: Exclude<ToController, { type: 'started' }>): void {
    switch (message.type) {
      case 'notified':
        this.#options.onNotified(message.message);
        return this.#tellOthers(running, message);
      case 'logged':
        return this.#options.onLogged(worker, message.records);
      case 'answer': {
        const { id, value, error } = message;
        const answer = running.questions.get(id);
        if (error) answer?.reject(fromErrorRecord(error));
        else answer?.resolve(value);
      }
    }
  }
}

/** Sends a message to a worker, which may have just ended. */
function send({ child }: Running, message: ToWorker): void {
  if (child.connected) child.send(message, () => {});
}
