import type { Context } from 'koa';
import { openAiError } from '../../errors.ts';
import { callerOf } from '../../../http/guards/caller.ts';
import { abortOnClose } from '../../../http/request/request-context.ts';
import { EVENT_KEEP_ALIVE } from '../../../http/response/server-sent-events.ts';
import { type EventFormat, namedEvent, sendEvents } from '../../http/event-stream.ts';
import type { OpenAiHttpOptions } from '../../http/openai-request.ts';

/** Events that are read later. An error ends the stream and not the response, so the client can continue the stream. */
const STORED_EVENTS: EventFormat = {
  keepAlive: EVENT_KEEP_ALIVE,
  eventOf: namedEvent,
  errorsOf: (thrown) => {
    const { code, message, param } = openAiError(thrown).error;
    return [{ type: 'error', code, message, param }];
  },
  end: '',
};

/**
 * Sends the events of a response that a task makes, after the event `after`, until the response has ended. When the
 * client leaves, the task goes on.
 */
export async function sendStoredEvents(
  ctx: Context,
  id: string,
  after: number | undefined,
  { openai, limits, log }: OpenAiHttpOptions,
): Promise<void> {
  const signal = abortOnClose(ctx);
  const events = await openai.background.as(callerOf(ctx)).watch(id, after ?? -1, signal);
  const keepAliveMs = limits.stream_keep_alive_s * 1000;
  await sendEvents(ctx, { signal, keepAliveMs, log, format: STORED_EVENTS }, async (send) => {
    for await (const event of events) await send([event]);
  });
}
