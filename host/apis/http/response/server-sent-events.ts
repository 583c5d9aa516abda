import type { Context } from 'koa';
import { StreamedAnswer } from './streamed-answer.ts';

/** A comment, which readers of server-sent events skip. */
export const EVENT_KEEP_ALIVE = ': \n\n';

/** One server-sent event. `data` is one line: it has no line ends. */
export interface SentEvent {
  readonly id: number | string;
  readonly event: string;
  readonly data: string;
}

/** Returns the text of an event (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export function serverSentEvent({ id, event, data }: SentEvent): string {
  return `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`;
}

export interface SendOptions {
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  readonly keepAliveMs: number;
  /** Called when the events fail after the answer has begun. The client sees the end of the stream. */
  readonly onFailure: (error: unknown) => void;
}

/** Sends server-sent events until they end or the client leaves. Sends the head at once, so it never rejects. */
export async function sendEvents(
  ctx: Context,
  events: AsyncIterable<SentEvent>,
  { signal, keepAliveMs, onFailure }: SendOptions,
): Promise<void> {
  const answer = new StreamedAnswer(ctx, { type: 'text/event-stream', keepAlive: EVENT_KEEP_ALIVE, keepAliveMs });
  answer.sendHead();
  try {
    for await (const event of events) await answer.write(serverSentEvent(event), signal);
  } catch (error) {
    if (!signal.aborted) onFailure(error);
  } finally {
    answer.end();
  }
}

/** Yields one event of the name `event` for each value, numbered from 1. */
export async function* numberedEvents(event: string, values: AsyncIterable<unknown>): AsyncGenerator<SentEvent> {
  let id = 0;
  for await (const value of values) yield { id: (id += 1), event, data: JSON.stringify(value) };
}

/** Like {@link numberedEvents}, for values that are JSON already. */
export async function* numberedTexts(event: string, texts: AsyncIterable<string>): AsyncGenerator<SentEvent> {
  let id = 0;
  for await (const data of texts) yield { id: (id += 1), event, data };
}
