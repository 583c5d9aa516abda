/** Longer URLs are refused where they are fetched. */
const maxUrlChars = 8192;
/**
 * The maximum number of URLs that are parsed, because the client chooses how many there are and parsing delays all
 * requests. Further URLs must match exactly.
 */
const maxParsed = 1000;

/**
 * The URLs in the input of a request: every text that is a URL, at any depth. They are collected at the first question.
 */
export class RequestUrls {
  readonly #input: string;
  #found: { readonly texts: ReadonlySet<string>; readonly parsed: ReadonlySet<string> } | undefined;

  /** @param input JSON. */
  constructor(input: string) {
    this.#input = input;
  }

  /** Whether the input has `url`, in the same or in another spelling. */
  has(url: string): boolean {
    this.#found ??= urlsIn(this.#input);
    return this.#found.texts.has(url) || this.#found.parsed.has(new URL(url).href);
  }
}

function urlsIn(input: string): { texts: Set<string>; parsed: Set<string> } {
  const texts = new Set<string>();
  const parsed = new Set<string>();
  const waiting: unknown[] = [JSON.parse(input)];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === 'string') {
      if (value.length > maxUrlChars || !/^\s*https?:/i.test(value)) continue;
      texts.add(value);
      if (texts.size <= maxParsed && URL.canParse(value)) parsed.add(new URL(value).href);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, member] of Object.entries(value)) waiting.push(key, member);
    }
  }
  return { texts, parsed };
}
