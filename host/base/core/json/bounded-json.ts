/** The part of a value that {@link boundedJson} keeps. */
export interface JsonBounds {
  /** Levels of objects and arrays. Deeper values become "…". */
  readonly maxDepth: number;
  /** Members of all objects and elements of all arrays together; the rest is left out, with "…" in its place. */
  readonly maxElements: number;
  /** Characters of all texts and keys together. Texts beyond are cut, or left out in the same way. */
  readonly maxChars: number;
}

const CUT = '…';

/**
 * Returns a value as JSON. Within the bounds the result is that of `JSON.stringify`, with the message in place of an
 * error. The function never throws: cycles, numbers without JSON, getters that throw, and depth that would overflow the
 * stack of `JSON.stringify` all become texts. Its time and its result are bounded. Undefined becomes `null`.
 */
export function boundedJson(value: unknown, bounds: JsonBounds): string {
  return new Writer(bounds).text(value, 0) ?? 'null';
}

class Writer {
  readonly #maxDepth: number;
  #elements: number;
  #chars: number;

  constructor({ maxDepth, maxElements, maxChars }: JsonBounds) {
    this.#maxDepth = maxDepth;
    this.#elements = maxElements;
    this.#chars = maxChars;
  }

  /** Returns undefined for a value that JSON leaves out. */
  text(value: unknown, depth: number): string | undefined {
    switch (typeof value) {
      case 'string':
        return this.#string(value);
      case 'number':
        return Number.isFinite(value) ? String(value) : 'null';
      case 'boolean':
        return String(value);
      case 'bigint':
        return this.#string(String(value));
      case 'object':
        return value === null ? 'null' : this.#object(value, depth);
      default:
        return undefined;
    }
  }

  #string(text: string): string {
    if (text.length <= this.#chars) {
      this.#chars -= text.length;
      return JSON.stringify(text);
    }
    const kept = text.slice(0, this.#chars);
    this.#chars = 0;
    return JSON.stringify(`${kept}${CUT}`);
  }

  #object(object: object, depth: number): string | undefined {
    try {
      if (object instanceof Error) return this.#string(object.message);
      if ('toJSON' in object && typeof object.toJSON === 'function') return this.text(plain(object.toJSON()), depth);
      if (depth >= this.#maxDepth) return JSON.stringify(CUT);
      return Array.isArray(object) ? this.#array(object, depth) : this.#members(object, depth);
    } catch {
      return JSON.stringify(CUT); // a getter, a proxy or `toJSON` that throws
    }
  }

  /** Counts one more member or element. Returns whether there was no room for it. */
  #isFull(): boolean {
    return this.#elements-- <= 0 || this.#chars <= 0;
  }

  #array(array: readonly unknown[], depth: number): string {
    const parts: string[] = [];
    for (const element of array) {
      if (this.#isFull()) {
        parts.push(JSON.stringify(CUT));
        break;
      }
      parts.push(this.text(element, depth + 1) ?? 'null');
    }
    return `[${parts.join(',')}]`;
  }

  #members(object: object, depth: number): string {
    const parts: string[] = [];
    for (const key in object) {
      if (!Object.hasOwn(object, key)) continue;
      if (this.#isFull()) {
        parts.push(`${JSON.stringify(CUT)}:${JSON.stringify(CUT)}`);
        break;
      }
      const name = this.#string(key);
      const text = this.text((object as Record<string, unknown>)[key], depth + 1);
      if (text !== undefined) parts.push(`${name}:${text}`);
    }
    return `{${parts.join(',')}}`;
  }
}

/** Returns the result of `toJSON` without its `toJSON`, because a chain of such results might have no end. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('toJSON' in value)) return value;
  return Array.isArray(value) ? [...value] : { ...value, toJSON: undefined };
}
