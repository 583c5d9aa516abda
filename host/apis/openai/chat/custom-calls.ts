/** The names of the custom tools of a request. */
export type CustomNames = ReadonlySet<string>;

/** Returns the arguments of the function that stands for a custom tool. */
export const customArguments = (input: string): string => JSON.stringify({ input });

/** Returns the input of a custom tool in whole arguments of its function. */
export const customInput = (text: string): string => new CustomInput().read(text);

const HEAD = /^\s*\{\s*"input"\s*:\s*"/;
/** {@link HEAD} without spaces. */
const PLAIN_HEAD = '{"input":"';
/** A piece of a text in JSON that does not depend on the next one. */
const WHOLE = /[^"\\]+|\\(?:u[0-9a-fA-F]{4}|[^u])/y;
const MOST_ESCAPE_CHARS = 6;

/**
 * Reads the input of a custom tool out of the arguments of its function, which come in pieces. Arguments that have
 * another form, as those of other servers can, are the input themselves.
 */
export class CustomInput {
  #state: 'before' | 'inside' | 'behind' | 'raw' = 'before';
  /** What came and cannot be read without what follows. */
  #rest = '';
  /** The first half of a character of two halves. */
  #half = '';

  /** Returns the part of the input that a piece adds. */
  read(piece: string): string {
    if (this.#state === 'behind') return '';
    if (this.#state === 'raw') return piece;
    this.#rest += piece;
    if (this.#state === 'before') {
      const head = HEAD.exec(this.#rest)?.[0];
      if (head === undefined) return PLAIN_HEAD.startsWith(this.#rest.replaceAll(/\s/g, '')) ? '' : this.#giveUp();
      this.#rest = this.#rest.slice(head.length);
      this.#state = 'inside';
    }
    return this.#readText();
  }

  #readText(): string {
    let end = 0;
    for (WHOLE.lastIndex = 0; WHOLE.test(this.#rest);) end = WHOLE.lastIndex;
    const text = this.#half + textOf(this.#rest.slice(0, end));
    this.#rest = this.#rest.slice(end);
    this.#half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? '';
    const given = this.#half === '' ? text : text.slice(0, -1);
    if (this.#rest.startsWith('"')) this.#state = 'behind';
    else if (this.#rest.length >= MOST_ESCAPE_CHARS) return given + this.#giveUp();
    return given;
  }

  #giveUp(): string {
    const rest = this.#rest;
    this.#state = 'raw';
    this.#rest = '';
    return rest;
  }
}

function textOf(json: string): string {
  try {
    return JSON.parse(`"${json}"`) as string;
  } catch {
    return json;
  }
}
