import { ApiError } from './errors.ts';

/** Yields the bytes of a body as text. */
async function* textOf({ body }: Response): AsyncGenerator<string, void, undefined> {
  if (!body) return;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read())
      yield decoder.decode(read.value, { stream: true });
    yield decoder.decode();
  } finally {
    await reader.cancel().catch(() => {}); // has no effect after the end
  }
}

/** Yields the JSON values of a text that has them in sequence, with or without whitespace between them. */
export async function* jsonValues(response: Response): AsyncGenerator<unknown, void, undefined> {
  let text = '';
  let at = 0;
  let start = -1; // of the current value
  let depth = 0;
  let inString = false;
  for await (const chunk of textOf(response)) {
    text += chunk;
    for (; at < text.length; at++) {
      const char = text[at] ?? '';
      if (inString) {
        if (char === '\\') at++;
        else if (char === '"') inString = false;
        if (inString || depth > 0) continue;
      } else if (char === '"') {
        inString = true;
        if (start < 0) start = at;
        continue;
      } else if (char === '{' || char === '[') {
        if (start < 0) start = at;
        depth++;
        continue;
      } else if (char === '}' || char === ']') {
        if (--depth > 0) continue;
      } else if (depth > 0) {
        continue;
      } else if (!/\s/.test(char)) {
        if (start < 0) start = at;
        continue;
      } else if (start < 0) {
        continue;
      }
      yield JSON.parse(text.slice(start, at + 1));
      start = -1;
    }
    const consumed = start < 0 ? Math.min(at, text.length) : start;
    text = text.slice(consumed);
    at -= consumed;
    start = start < 0 ? -1 : 0;
  }
  if (start >= 0 && depth === 0 && !inString) yield JSON.parse(text);
  else if (start >= 0)
    throw new ApiError(
      response.status,
      { error: 'IncompleteStream', message: 'the connection ended inside a value', data: {}, stacktrace: null },
      response.headers,
    );
}

/** Returns one event. `data` is parsed. */
export interface ServerSentEvent {
  readonly id: number;
  readonly event: string;
  readonly data: unknown;
}

export async function* serverSentEvents(response: Response): AsyncGenerator<ServerSentEvent, void, undefined> {
  let text = '';
  for await (const chunk of textOf(response)) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const lines = block.split('\n').map((line) => /^(\w+): ?(.*)$/.exec(line));
      const field = (name: string): string[] => lines.flatMap((line) => (line?.[1] === name ? [line[2] ?? ''] : []));
      const data = field('data').join('\n');
      if (data !== '')
        yield { id: Number(field('id')[0]), event: field('event')[0] ?? 'message', data: JSON.parse(data) as unknown };
    }
  }
}
