/** Characters that Unicode keeps free for programs. */
const MARKS = Array.from({ length: 32 }, (_, at) => String.fromCodePoint(0xfdd0 + at));

/** A dialog that has all of the characters which could mark its control texts. */
export class NoMarkLeft extends Error {}

/**
 * Keeps the texts of control tokens in a dialog apart from those of the chat template. Each gets a mark behind its
 * first character before the template sees it. The output of the template is cut at the marks, so no part has a control
 * text of the dialog.
 */
export class DialogText {
  readonly #controls: RegExp | undefined;

  /** `controls` has the texts of the control tokens. */
  constructor(controls: readonly string[]) {
    const texts = controls.filter((text) => text.length > 1);
    this.#controls = texts.length === 0 ? undefined : new RegExp(`(?=${texts.map(escaped).join('|')}).`, 'gsu');
  }

  /** Returns the parts of what `render` makes of `dialog`, whose texts are tokenized one by one. */
  parts<Dialog>(dialog: Dialog, render: (dialog: Dialog) => string): string[] {
    const known = JSON.stringify(dialog);
    const mark = MARKS.find((one) => !known.includes(one));
    if (mark === undefined) throw new NoMarkLeft('it has each of the characters U+FDD0 to U+FDEF');
    return render(this.#marked(dialog, mark)).split(mark);
  }

  #marked<Value>(value: Value, mark: string): Value {
    if (typeof value === 'string')
      return (this.#controls ? value.replace(this.#controls, `$&${mark}`) : value) as Value;
    if (Array.isArray(value)) return value.map((item: unknown) => this.#marked(item, mark)) as Value;
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#marked(item, mark)])) as Value;
  }
}

/** Returns a text as a part of a regular expression. */
const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
