import type { Context } from 'koa';
import { errorLogFields } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { traceFields } from '../../../base/core/request-context.ts';
import { openAiError } from '../errors.ts';
import { noteStreamFailure, traceparentOf } from '../../http/request/request-context.ts';
import { EVENT_KEEP_ALIVE } from '../../http/response/server-sent-events.ts';
import { StreamedAnswer } from '../../http/response/streamed-answer.ts';

/** How an API writes the events of its streams. */
export interface EventFormat {
  /** Text that is sent in silence. */
  readonly keepAlive: string;
  /** Returns the text of one event. */
  eventOf(value: unknown): string;
  /** Returns the events that end a stream after an error. */
  errorsOf(thrown: unknown, requestId: string): readonly unknown[];
  /** Text behind the last event of a whole answer. */
  readonly end: string;
}

/** Returns the text of an event that has its name in `type`. */
export function namedEvent(event: unknown): string {
  return `event: ${(event as { readonly type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The events of chat completions: `data: {…}` for each value, and `data: [DONE]` at the end. */
const OPENAI_EVENTS: EventFormat = {
  keepAlive: EVENT_KEEP_ALIVE,
  eventOf: (value) => `data: ${JSON.stringify(value)}\n\n`,
  errorsOf: (thrown) => [openAiError(thrown)],
  end: 'data: [DONE]\n\n',
};

export interface EventStreamOptions {
  readonly signal: AbortSignal;
  /** Time of silence after which the text for silence is sent. */
  readonly keepAliveMs: number;
  /** Default: `text/event-stream`. */
  readonly type?: string;
  /** What begins the stream in place of the text for silence, if that much silence comes before the first event. */
  readonly opening?: { readonly afterMs: number; readonly events: () => readonly unknown[] };
  /** Default: that of OpenAI's API. */
  readonly format?: EventFormat;
  readonly log: Logger;
}

/**
 * Sends an answer as server-sent events. `write` gets the function that sends events. The status is sent with the first
 * event, or with what is sent in silence. An error before that rejects; a later one is the last event, without the
 * end of a whole answer.
 */
export async function sendEvents(
  ctx: Context,
  { signal, keepAliveMs, type = 'text/event-stream', opening, format = OPENAI_EVENTS, log }: EventStreamOptions,
  write: (send: (events: readonly unknown[]) => Promise<void>) => Promise<void>,
): Promise<void> {
  let answer: StreamedAnswer | undefined;
  const begin = (): StreamedAnswer => {
    clearTimeout(quiet);
    answer ??= new StreamedAnswer(ctx, { type, keepAlive: format.keepAlive, keepAliveMs });
    return answer;
  };
  const quiet = setTimeout(
    () => {
      if (signal.aborted) return;
      const text = opening ? textOf(opening.events(), format) : format.keepAlive;
      void begin()
        .write(text, signal)
        .catch(() => {}); // the writer sees the abort, too
    },
    Math.min(keepAliveMs, opening?.afterMs ?? keepAliveMs),
  );
  try {
    await write(async (events) => {
      signal.throwIfAborted();
      if (events.length > 0) await begin().write(textOf(events, format), signal);
    });
    begin().end(format.end);
  } catch (error) {
    if (!answer) throw error;
    noteStreamFailure(ctx, error, signal.aborted);
    log.warn('stream failed', {
      requestId: ctx.state['requestId'],
      path: ctx.path,
      ...traceFields(traceparentOf(ctx)),
      ...errorLogFields(error),
    });
    answer.end(textOf(format.errorsOf(error, String(ctx.state['requestId'])), format));
  } finally {
    clearTimeout(quiet);
  }
}

const textOf = (events: readonly unknown[], { eventOf }: EventFormat): string =>
  events.map((event) => eventOf(event)).join('');
