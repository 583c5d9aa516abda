/** Characters of the texts of one deployment with their names, such as those of 1000 slides. */
const MOST_CHARACTERS = 1_000_000;

/** The texts that were read for a tenant, by the names of the images. */
export interface TextsOfTenant {
  get(image: string): string | undefined;
  add(image: string, text: string): void;
}

/**
 * Texts that deployments have read in images, because the next turns of a dialog have its images again. The texts that
 * were not used for longest go first, and after a change of a deployment all of its texts.
 */
export class ReadTexts {
  readonly #kept = new WeakMap<object, KeptTexts>();

  /** Returns the texts that a deployment has read for a tenant. `reader` is another object after each change of it. */
  of(reader: object, tenant: string): TextsOfTenant {
    const kept = this.#kept.get(reader) ?? new KeptTexts();
    this.#kept.set(reader, kept);
    const keyOf = (image: string): string => `${image}\n${tenant}`;
    return { get: (image) => kept.get(keyOf(image)), add: (image, text) => kept.add(keyOf(image), text) };
  }
}

class KeptTexts {
  readonly #texts = new Map<string, string>();
  #characters = 0;

  get(key: string): string | undefined {
    const text = this.#texts.get(key);
    if (text === undefined) return undefined;
    this.#texts.delete(key);
    this.#texts.set(key, text);
    return text;
  }

  add(key: string, text: string): void {
    this.#delete(key);
    this.#texts.set(key, text);
    this.#characters += key.length + text.length;
    for (const oldest of this.#texts.keys()) {
      if (this.#characters <= MOST_CHARACTERS) return;
      this.#delete(oldest);
    }
  }

  #delete(key: string): void {
    const text = this.#texts.get(key);
    if (text === undefined) return;
    this.#texts.delete(key);
    this.#characters -= key.length + text.length;
  }
}
