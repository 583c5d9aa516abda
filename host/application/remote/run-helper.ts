import { fileURLToPath } from 'node:url';
import type * as z from 'zod';
import { Limiter } from '../../base/core/async/limiter.ts';
import { AanaError, type ErrorRecord, fail, fromErrorRecord } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Helper, HelperAnswer } from '../../base/modules/index.ts';
import { runContained } from '../../base/processes/index.ts';

export interface RunHelperOptions {
  /** Ends the process. */
  readonly signal?: AbortSignal | undefined;
  /** Environment of the process. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
}

const CHILD = fileURLToPath(new URL('./helper-child.js', import.meta.url));
/** Most bytes of a result as JSON. */
const MAX_RESULT_BYTES = 64 * 2 ** 20;

/** Each helper takes a processor, so few run at a time, as of a plugin. */
const running = new Limiter(4);

/**
 * Runs a helper in a process of its own and returns its result. Rejects with the error that it throws, with the
 * signal's reason, or with `HelperError`.
 */
export async function runHelper<I extends z.core.$ZodType, O extends z.core.$ZodType>(
  { module, name }: Helper<I, O>,
  input: z.core.input<I>,
  { signal, env, log }: RunHelperOptions,
): Promise<z.core.output<O>> {
  if (typeof module !== 'string' || !module.startsWith('file:'))
    throw fail('HelperError', `helper ${name}: module must be the import.meta.url of the module that exports it`);
  const args = ['--enable-source-maps', CHILD, fileURLToPath(module), name];
  const sent = Promise.resolve(JSON.stringify(input) ?? 'null');
  const run = () =>
    runContained(process.execPath, args, { env, signal, input: sent, maxStdoutBytes: MAX_RESULT_BYTES, graceMs: 0 });
  const ended = await running.run(run, signal).catch((error: unknown) => {
    if (!(error instanceof AanaError) || error.name !== 'ProcessOutputTooLarge') throw error;
    throw fail('HelperError', `helper ${name}: its result has more than ${MAX_RESULT_BYTES} bytes`);
  });
  const printed = ended.stderr.trim();
  if (printed !== '') log.debug('helper wrote', { helper: name, text: printed });
  const answer = answerOf(ended.stdout.toString());
  if (!answer) {
    const how = ended.signal === null ? `exited with code ${ended.code}` : `was ended by ${ended.signal}`;
    throw fail('HelperError', `helper ${name}: its process ${how} before it had a result`);
  }
  if ('error' in answer) throw fromErrorRecord(answer.error as ErrorRecord);
  return answer.result as z.core.output<O>;
}

function answerOf(text: string): HelperAnswer | undefined {
  try {
    return JSON.parse(text) as HelperAnswer;
  } catch {
    return undefined;
  }
}
