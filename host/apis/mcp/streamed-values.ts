import { resultTooLarge } from './results.ts';

export interface StreamedValuesOptions {
  /** Name of the endpoint, for the error. */
  readonly name: string;
  /** Most bytes of all values together. */
  readonly maxBytes: number;
  /** Called with the number of values so far, and the last one as JSON. Resolves when the next one may come. */
  readonly onValue: (count: number, json: string) => Promise<void>;
  /** Called once, with `ResultTooLarge`, when there are too many bytes. */
  readonly onTooLarge: (error: unknown) => void;
}

/** Collects the values of an endpoint that streams. */
export class StreamedValues {
  readonly #options: StreamedValuesOptions;
  readonly #values: string[] = [];
  #bytes = 0;

  constructor(options: StreamedValuesOptions) {
    this.#options = options;
  }

  /** Adds a value in JSON. Resolves when the next one may come. Rejects when there are too many bytes. */
  readonly write = async (json: string): Promise<void> => {
    const { name, maxBytes, onValue, onTooLarge } = this.#options;
    this.#bytes += Buffer.byteLength(json) + 1;
    if (this.#bytes > maxBytes) {
      const error = resultTooLarge(name, maxBytes);
      onTooLarge(error);
      throw error;
    }
    this.#values.push(json);
    await onValue(this.#values.length, json);
  };

  /** The result of the tool, as JSON. */
  get json(): string {
    return `{"values":[${this.#values.join(',')}]}`;
  }
}
