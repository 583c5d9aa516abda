/** Yields the data of the server-sent events of an answer. */
export async function* eventsOf<T>(response: Response): AsyncGenerator<T> {
  let text = '';
  const decoder = new TextDecoder();
  for (const reader = response.body!.getReader(); ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (text + decoder.decode(value, { stream: true })).split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) yield JSON.parse(data) as T;
    }
  }
}
