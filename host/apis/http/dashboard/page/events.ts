/** One server-sent event. */
export interface SentEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** Yields the server-sent events of an answer. */
export async function* sentEventsOf(response: Response): AsyncGenerator<SentEvent> {
  let text = '';
  const decoder = new TextDecoder();
  for (const reader = response.body!.getReader(); ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (text + decoder.decode(value, { stream: true })).split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = fieldOf(event, 'data');
      if (data !== undefined) yield { id: fieldOf(event, 'id') ?? '', event: fieldOf(event, 'event') ?? '', data };
    }
  }
}

/** Yields the values of the server-sent events of an answer. */
export async function* eventsOf<T>(response: Response): AsyncGenerator<T> {
  for await (const { data } of sentEventsOf(response)) yield JSON.parse(data) as T;
}

function fieldOf(event: string, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)$`, 'm').exec(event)?.[1];
}
