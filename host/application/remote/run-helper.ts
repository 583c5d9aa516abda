import { fileURLToPath } from 'node:url';
import type * as z from 'zod';
import { Limiter } from '../../base/core/async/limiter.ts';
import { AanaError, type ErrorRecord, fail, fromErrorRecord } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { RequestContext } from '../../base/core/request-context.ts';
import type { Helper, HelperAnswer } from '../../base/modules/index.ts';
import { runContained, type RunContainedResult } from '../../base/processes/index.ts';

export interface HelperRunsOptions {
  /** Environment of the processes. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  readonly weightOf: (userId: string) => number | undefined;
}

/** For whom a helper runs. */
export interface HelperCaller extends Pick<RequestContext, 'userId' | 'priority'> {
  /** Ends the process. */
  readonly signal?: AbortSignal | undefined;
}

const CHILD = fileURLToPath(new URL('./helper-child.js', import.meta.url));
/** Most bytes of a result as JSON. */
const MAX_RESULT_BYTES = 64 * 2 ** 20;
/** Each helper takes a processor, so few run at a time, as of a plugin. */
const MOST_AT_ONCE = 4;

/** Runs helpers of one application, in turns between users. */
export class HelperRuns {
  readonly #options: HelperRunsOptions;
  readonly #places = new Limiter(MOST_AT_ONCE);
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<RunContainedResult>>();

  constructor(options: HelperRunsOptions) {
    this.#options = options;
  }

  /**
   * Runs a helper in a process of its own and returns its result. Rejects with the error that it throws, with the
   * signal's reason, or with `HelperError`.
   */
  async run<I extends z.core.$ZodType, O extends z.core.$ZodType>(
    { module, name }: Helper<I, O>,
    input: z.core.input<I>,
    caller: HelperCaller,
  ): Promise<z.core.output<O>> {
    if (process.argv[1] === CHILD)
      throw fail('NestedHelper', `helper ${name}: a helper cannot start helpers, and importing its module must not`);
    const args = ['--enable-source-maps', CHILD, pathOf(module, name), name];
    const running = this.#ended(args, JSON.stringify(input) ?? 'null', caller);
    this.#running.add(running);
    const ended = await running
      .finally(() => this.#running.delete(running))
      .catch((error: unknown) => {
        if (!(error instanceof AanaError) || error.name !== 'ProcessOutputTooLarge') throw error;
        throw fail('HelperError', `helper ${name}: its result has more than ${MAX_RESULT_BYTES} bytes`);
      });
    const printed = ended.stderr.trim();
    if (printed !== '') this.#options.log.debug('helper wrote', { helper: name, text: printed });
    const answer = answerOf(ended.stdout.toString());
    if (!answer) {
      const how = ended.signal === null ? `exited with code ${ended.code}` : `was ended by ${ended.signal}`;
      throw fail('HelperError', `helper ${name}: its process ${how} before it had a result`);
    }
    if ('error' in answer) throw fromErrorRecord(answer.error as ErrorRecord);
    return answer.result as z.core.output<O>;
  }

  /** Ends all helpers. */
  async close(): Promise<void> {
    this.#closing.abort(fail('ShuttingDown', 'the application is shutting down'));
    await Promise.allSettled(this.#running);
  }

  /** Returns how a process with this input ended. */
  #ended(args: readonly string[], input: string, caller: HelperCaller): Promise<RunContainedResult> {
    const { env, weightOf } = this.#options;
    const { userId = null, priority = 0 } = caller;
    const closing = this.#closing.signal;
    const signal = caller.signal ? AbortSignal.any([caller.signal, closing]) : closing;
    const run = (): Promise<RunContainedResult> =>
      runContained(process.execPath, args, {
        ...{ env, signal, input: Promise.resolve(input), maxStdoutBytes: MAX_RESULT_BYTES, graceMs: 0 },
        ownGroup: true, // what the helper starts ends with it
      });
    const weight = userId === null ? undefined : weightOf(userId);
    return this.#places.run(run, signal, { userId, priority, cost: 1, weight });
  }
}

function pathOf(module: string, name: string): string {
  try {
    return fileURLToPath(module);
  } catch (error) {
    const message = `helper ${name}: module must be the import.meta.url of the module that exports it`;
    throw fail('HelperError', message, { cause: error });
  }
}

/** Returns the answer, which is the last line: what the helper started may have written before. */
function answerOf(text: string): HelperAnswer | undefined {
  try {
    return JSON.parse(text.slice(text.lastIndexOf('\n') + 1)) as HelperAnswer;
  } catch {
    return undefined;
  }
}
