import type { Context } from 'koa';
import { errorLogFields } from '../../../core/errors.ts';
import type { Logger } from '../../../core/log/logger.ts';
import { openAiError } from '../../../openai/index.ts';
import { EVENT_KEEP_ALIVE } from '../../response/server-sent-events.ts';
import { StreamedAnswer } from '../../response/streamed-answer.ts';

export interface EventStreamOptions {
  readonly signal: AbortSignal;
  /** Time of silence after which a comment is sent. */
  readonly keepAliveMs: number;
  /** Default: `text/event-stream`. */
  readonly type?: string;
  readonly log: Logger;
}

/**
 * Sends an answer as the events of OpenAI's API: `data: {…}` for each value, and `data: [DONE]` at the end. `write` gets
 * the function that sends events. The status is sent with the first event, or with the first comment after a time of
 * silence. An error before that rejects; a later one is the last event, without `[DONE]`.
 */
export async function sendEvents(
  ctx: Context,
  { signal, keepAliveMs, type = 'text/event-stream', log }: EventStreamOptions,
  write: (send: (events: readonly unknown[]) => Promise<void>) => Promise<void>,
): Promise<void> {
  let answer: StreamedAnswer | undefined;
  const begin = (): StreamedAnswer => {
    clearTimeout(quiet);
    answer ??= new StreamedAnswer(ctx, { type, keepAlive: EVENT_KEEP_ALIVE, keepAliveMs });
    return answer;
  };
  const quiet = setTimeout(() => {
    if (!signal.aborted)
      void begin()
        .write(EVENT_KEEP_ALIVE, signal)
        .catch(() => {}); // the writer sees the abort, too
  }, keepAliveMs);
  try {
    await write(async (events) => {
      signal.throwIfAborted();
      if (events.length > 0) await begin().write(events.map(eventOf).join(''), signal);
    });
    begin().end('data: [DONE]\n\n');
  } catch (error) {
    if (!answer) throw error;
    ctx.state['failedStatus'] = signal.aborted ? 499 : 200;
    log.warn('stream failed', { requestId: ctx.state['requestId'], path: ctx.path, ...errorLogFields(error) });
    answer.end(eventOf(openAiError(error)));
  } finally {
    clearTimeout(quiet);
  }
}

const eventOf = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
