/** A call of a tool that the model wrote as JSON without the marks of its template. */
export interface LooseCall {
  readonly name: string;
  /** JSON text of an object. */
  readonly arguments: string;
}

export interface LooseText {
  readonly text: string;
  readonly calls: readonly LooseCall[];
}

/** Text that could be a call is held back up to this length. */
const MAX_HELD = 32_768;

// The parts of these patterns that take white space are never next to each other, so the time is linear.

/** The beginning of JSON on a line, bare or in a fence. The fence may name a language in which models write calls. */
const OPENING = /(?:^|\n)[ \t]*(?:```(?:[ \t]*(?:json|tool_calls?))?\s*)?([[{])/;
/** An end of the text that more text could make an {@link OPENING}. */
const UNFINISHED = /(?:^|\n)[ \t]*(?:`{1,2}|```(?:[ \t]*[a-z_]{1,10})?\s*)?$/;
const CLOSING_FENCE = /^\s*```[ \t]*(?:\n|$)/;
/** Members with which a call begins. */
const FIRST_KEYS = ['name', 'function', 'tool', 'type', 'id', 'arguments', 'parameters'];

/**
 * Finds calls of tools that the model writes as bare or fenced JSON, in text that comes in pieces. Only an object with
 * the name of a known tool and with arguments is a call; everything else stays text. Text is held back only while it
 * may still become a call.
 */
export class LooseCalls {
  readonly #names: ReadonlySet<string>;
  readonly #mostCalls: number;
  #held = '';
  #atLineStart = true;
  #isAfterCall = false;
  #calls = 0;

  constructor(names: Iterable<string>, { parallel }: { readonly parallel: boolean }) {
    this.#names = new Set(names);
    this.#mostCalls = parallel ? Infinity : 1;
  }

  push(piece: string): LooseText {
    this.#held += piece;
    if (this.#isAfterCall) {
      this.#held = this.#held.trimStart();
      this.#isAfterCall = this.#held === '';
    }
    return this.#read(false);
  }

  /** Returns what is still held back, because the text has ended. */
  finish(): LooseText {
    return this.#read(true);
  }

  #read(ended: boolean): LooseText {
    let text = '';
    const calls: LooseCall[] = [];
    const release = (length: number): void => {
      const part = this.#held.slice(0, length);
      if (part === '') return;
      text += part;
      this.#atLineStart = part.endsWith('\n');
      this.#held = this.#held.slice(length);
    };
    while (this.#held !== '') {
      // A line that has begun already must not look like the start of one.
      const shift = this.#atLineStart ? 0 : 1;
      const seen = shift === 0 ? this.#held : ` ${this.#held}`.replace(/^ /, '\u0000');
      const opening = this.#calls < this.#mostCalls ? OPENING.exec(seen) : null;
      if (!opening) {
        const open = ended || this.#calls >= this.#mostCalls ? -1 : seen.search(UNFINISHED);
        release(open < 0 ? this.#held.length : Math.max(0, open - shift));
        break;
      }
      const begin = opening.index - shift + (opening[0].startsWith('\n') ? 1 : 0);
      release(Math.max(0, begin));
      const json = opening[0].length - (opening[0].startsWith('\n') ? 1 : 0) - 1;
      const end = endOfJson(this.#held, json);
      if (end === undefined) {
        const hopeless = ended || this.#held.length > MAX_HELD || !mayBecomeCall(this.#held.slice(json));
        if (!hopeless) break;
        release(json + 1);
        continue;
      }
      const found = this.#callsIn(this.#held.slice(json, end));
      if (found.length === 0 || this.#calls + found.length > this.#mostCalls) {
        release(end);
        continue;
      }
      const isFenced = this.#held.slice(0, json).includes('```');
      const fence = isFenced ? CLOSING_FENCE.exec(this.#held.slice(end)) : null;
      // The fence may not be there yet; without it the text goes on.
      if (isFenced && !fence && !ended && /^\s*`{0,3}$/.test(this.#held.slice(end))) break;
      calls.push(...found);
      this.#calls += found.length;
      this.#held = this.#held.slice(end + (fence?.[0].length ?? 0)).trimStart();
      this.#isAfterCall = this.#held === '';
      this.#atLineStart = true;
    }
    return { text, calls };
  }

  #callsIn(json: string): LooseCall[] {
    let value: unknown;
    try {
      value = JSON.parse(json);
    } catch {
      return [];
    }
    const calls = (Array.isArray(value) ? value : [value]).map((item) => this.#callOf(item));
    return calls.every((call) => call !== undefined) ? calls : [];
  }

  #callOf(value: unknown): LooseCall | undefined {
    if (typeof value !== 'object' || value === null) return undefined;
    const wrapped = (value as { function?: unknown }).function;
    if (typeof wrapped === 'object' && wrapped !== null) return this.#callOf(wrapped);
    const { name = wrapped ?? (value as { tool?: unknown }).tool, ...rest } = value as Record<string, unknown>;
    const given = rest['arguments'] ?? rest['parameters'];
    const args = typeof given === 'string' ? parsed(given) : given;
    if (typeof name !== 'string' || !this.#names.has(name)) return undefined;
    if (typeof args !== 'object' || args === null || Array.isArray(args)) return undefined;
    return { name, arguments: JSON.stringify(args) };
  }
}

/** Returns whether JSON without an end can be that of calls, by the first member of its first object. */
function mayBecomeCall(json: string): boolean {
  const object = json.replace(/^[[\s]+/, '');
  if (object === '') return true;
  const [, key = '', end = ''] = /^\{\s*(?:"([^"]*)("?)|$)/.exec(object) ?? [undefined, '?'];
  return end === '' ? FIRST_KEYS.some((name) => name.startsWith(key)) : FIRST_KEYS.includes(key);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Returns the position behind the JSON array or object at `begin`; undefined when it has no end. */
function endOfJson(text: string, begin: number): number | undefined {
  let depth = 0;
  let inString = false;
  for (let at = begin; at < text.length; at += 1) {
    const character = text[at];
    if (inString) {
      if (character === '\\') at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}
