/** Longer ones are refused by whoever fetches them. */
const maxUrlChars = 8192;
/**
 * Parsing costs the thread of every request, and a client chooses how many there are. Those after it are known by their
 * exact text alone.
 */
const maxParsed = 1000;

/**
 * The URLs that a request names: every text in its input that is one, wherever it stands. They are looked for when they
 * are first asked for.
 */
export class RequestUrls {
  readonly #input: string;
  #found: { readonly texts: ReadonlySet<string>; readonly parsed: ReadonlySet<string> } | undefined;

  /** `input` is JSON. */
  constructor(input: string) {
    this.#input = input;
  }

  /** Whether the request names `url`, as it is written here or in another spelling of the same URL. */
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
