import { Parser } from 'htmlparser2';

/** Elements whose contents are not text of the page. */
const HIDDEN = new Set(['script', 'style', 'template', 'noscript', 'svg', 'iframe', 'object', 'select', 'textarea']);
/** Elements that stand on lines of their own. */
const BLOCKS = new Set(
  (
    'address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form ' +
    'h1 h2 h3 h4 h5 h6 head header hr html legend li main nav ol p pre search section summary ' +
    'table tbody tfoot thead title tr ul'
  ).split(' '),
);
const HEADING = /^h([1-6])$/;
/** A line of text that would be a heading or a code block of Markdown. */
const MARKUP = /^(?:#{1,6}(?:\s|$)|```|~~~|=+$|-{2,}$)/;

/**
 * Writes the text of a page of HTML as Markdown: headings, paragraphs, items of lists, rows of tables and preformatted
 * text. The title is a heading of the first level. Links and emphasis are their texts.
 */
export class HtmlText {
  readonly #write: (text: string) => void;
  readonly #parser: Parser;
  /** How many hidden and preformatted elements are open. */
  #hidden = 0;
  #preformatted = 0;
  /** The text since the last border of a block, and what comes before it. */
  #text = '';
  #mark = '';

  constructor(write: (text: string) => void) {
    this.#write = write;
    this.#parser = new Parser({
      onopentagname: (name) => this.#open(name),
      ontext: (text) => {
        if (this.#hidden === 0) this.#text += text;
      },
      onclosetag: (name) => this.#close(name),
    });
  }

  add(html: string): void {
    this.#parser.write(html);
  }

  end(): void {
    this.#parser.end();
    this.#endBlock();
  }

  #open(name: string): void {
    if (HIDDEN.has(name)) this.#hidden += 1;
    if (this.#hidden > 0) return;
    if (BLOCKS.has(name)) this.#endBlock();
    if (name === 'pre') this.#preformatted += 1;
    if (name === 'br') this.#text += this.#preformatted > 0 ? '\n' : LINE_BREAK;
    if (name === 'li') this.#mark = '- ';
    if (name === 'title') this.#mark = '# ';
    if ((name === 'td' || name === 'th') && this.#text.trim() !== '') this.#text += ' | ';
    const level = Number(HEADING.exec(name)?.[1] ?? 0);
    if (level > 0) this.#mark = `${'#'.repeat(level)} `;
  }

  #close(name: string): void {
    if (HIDDEN.has(name)) this.#hidden = Math.max(0, this.#hidden - 1);
    if (this.#hidden > 0) return;
    if (BLOCKS.has(name)) this.#endBlock();
    if (name === 'pre') this.#preformatted = Math.max(0, this.#preformatted - 1);
    if (name === 'li' || name === 'title' || HEADING.test(name)) this.#mark = '';
  }

  #endBlock(): void {
    const text = this.#text;
    this.#text = '';
    if (text.trim() === '') return;
    if (this.#preformatted > 0) this.#write(`${fenced(text.replaceAll(LINE_BREAK, '\n'))}\n\n`);
    else {
      const lines = text.split(LINE_BREAK).map((line) => line.replaceAll(/\s+/g, ' ').trim());
      const kept = lines.filter((line) => line !== '').map((line) => (MARKUP.test(line) ? `\\${line}` : line));
      this.#write(`${this.#mark}${kept.join(this.#mark.startsWith('#') ? ' ' : '\n')}\n\n`);
    }
    this.#mark = '';
  }
}

/** What stands for `<br>`. No text has it: files with it are refused, and the parser makes U+FFFD of `&#0;`. */
const LINE_BREAK = '\0';

function fenced(text: string): string {
  const longest = [...text.matchAll(/`{3,}/g)].reduce((length, [marks]) => Math.max(length, marks.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text.replaceAll(/^\n+|\s+$/g, '')}\n${fence}`;
}
