import type { ChatChunk, Quotation } from './api.ts';
import { element } from './elements.ts';
import { renderMarkdown } from './markdown.ts';

/** One answer on the page, which grows while it is streamed. */
export class AnswerView {
  readonly root = element('article', 'turn assistant');
  readonly #reasoning = element('p');
  readonly #reasoningBox = element('details', 'reasoning', element('summary', '', 'Reasoning'), this.#reasoning);
  readonly #body = element('div', 'body');
  readonly #startedMs = performance.now();
  #quotations: readonly Quotation[] = [];
  #text = '';
  #isDrawn = true;
  #read = (text: string): string => text;
  #shown: HTMLElement | undefined;

  constructor() {
    this.#reasoningBox.hidden = true;
    this.root.append(this.#reasoningBox, this.#body);
  }

  /** The text without the reasoning. */
  get text(): string {
    return this.#read(this.#text);
  }

  /** Lets `read` turn what the model writes into the text of the answer, also while it is written. */
  readBy(read: (written: string) => string): void {
    this.#read = read;
  }

  /** What the model has written. */
  get written(): string {
    return this.#text;
  }

  /** The quotations of the answer, which come with its end. */
  get quotations(): readonly Quotation[] {
    return this.#quotations;
  }

  append(text: string): void {
    this.#text += text;
    this.#draw();
  }

  add({ choices: [choice], usage }: ChatChunk): void {
    if (choice?.delta.reasoning_content) {
      this.#reasoningBox.hidden = false;
      this.#reasoning.append(choice.delta.reasoning_content);
    }
    if (choice?.delta.content) this.append(choice.delta.content);
    this.#quotations = choice?.delta.quotations ?? this.#quotations;
    if (choice?.finish_reason === 'length') this.addFact('The limit of tokens has cut the answer.');
    if (usage) {
      const seconds = ((performance.now() - this.#startedMs) / 1000).toFixed(1);
      this.addFact(`${usage.completion_tokens} tokens in ${seconds} s`);
    }
  }

  /** Shows an element in place of the text. */
  show(shown: HTMLElement): void {
    this.#shown = shown;
    this.#draw();
  }

  /** Adds a line under the answer. */
  addFact(text: string): void {
    this.root.append(element('p', 'facts', text));
  }

  /** Draws the text at most once for each frame. */
  #draw(): void {
    if (!this.#isDrawn) return;
    this.#isDrawn = false;
    requestAnimationFrame(() => {
      this.#isDrawn = true;
      this.#body.replaceChildren(this.#shown ?? renderMarkdown(this.text));
    });
  }
}
