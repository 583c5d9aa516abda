/** A comment, which readers of server-sent events skip. */
export const EVENT_KEEP_ALIVE = ': \n\n';

/**
 * One server-sent event (https://html.spec.whatwg.org/multipage/server-sent-events.html). `data` is one line: it has no
 * line ends.
 */
export function serverSentEvent(id: number | string, event: string, data: string): string {
  return `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`;
}
