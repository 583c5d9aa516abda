/** Returns the index after the first complete JSON object of `text`; 0 when there is none yet. */
function objectEnd(text: string): number {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (inString) {
      if (char === '\\') at++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return at + 1;
  }
  return 0;
}

/**
 * Yields the objects of a streamed answer: JSON objects one after the other without separators. The server sends each
 * object as a chunk of its own, but proxies may join or split chunks. Throws a `SyntaxError` when the answer is not
 * JSON.
 */
export async function* concatenatedJson(body: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = objectEnd(text); end > 0; end = objectEnd(text)) {
      yield JSON.parse(text.slice(0, end));
      text = text.slice(end);
    }
  }
  if (text.trim() !== '') throw new SyntaxError(`the stream ended inside an object: ${text.slice(0, 80)}`);
}

/** Returns the texts of the complete objects in `text`, and the rest after them. */
export function splitJson(text: string): { readonly values: string[]; readonly rest: string } {
  const values: string[] = [];
  let rest = text;
  for (let end = objectEnd(rest); end > 0; end = objectEnd(rest)) {
    values.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return { values, rest };
}
