import {
  DamagedGguf,
  GgufReader,
  type GgufTensorEntry,
  type GgufValue,
} from '../../../../base/core/model-files/gguf.ts';
import { formatError } from '../formats/format-error.ts';
import type { PartedFile } from '../formats/parted-file.ts';

/** Keys of arrays of the vocabulary, which have an item for each token or merge. */
const VOCABULARY = ['tokens', 'token_type', 'merges'].map((key) => `tokenizer.ggml.${key}`);
const ALIGNMENT = 32;

/** A tensor of a GGUF file. `offset` counts from the beginning of the file. */
export type GgufTensor = Omit<GgufTensorEntry, 'weights'>;

/** What a GGUF file of one part says of its model. */
export class GgufSource {
  readonly label: string;
  /** Length of the file. */
  readonly bytes: number;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
  readonly #values: ReadonlyMap<string, GgufValue>;
  readonly #arrays: ReadonlyMap<string, readonly (string | number)[]>;

  private constructor(
    { label, bytes }: { readonly label: string; readonly bytes: number },
    values: ReadonlyMap<string, GgufValue>,
    arrays: ReadonlyMap<string, readonly (string | number)[]>,
    tensors: ReadonlyMap<string, GgufTensor>,
  ) {
    this.label = label;
    this.bytes = bytes;
    this.#values = values;
    this.#arrays = arrays;
    this.tensors = tensors;
  }

  /** Reads the header. Throws `ModelFormatError`, which names the model as `label`, for a damaged one. */
  static async read(file: PartedFile, label: string = file.label): Promise<GgufSource> {
    try {
      const reader = new GgufReader(file, VOCABULARY);
      const { values, arrays, tensorCount } = await reader.metadata();
      const table: GgufTensorEntry[] = [];
      for (let index = 0; index < tensorCount; index += 1) table.push(await reader.tensor());
      const alignment = values.get('general.alignment');
      const step =
        typeof alignment === 'number' && Number.isInteger(alignment) && alignment > 0 ? alignment : ALIGNMENT;
      const begin = Math.ceil(reader.at / step) * step;
      const tensors = new Map(
        table.map(({ name, dimensions, type, offset }) => [name, { name, dimensions, type, offset: begin + offset }]),
      );
      return new GgufSource({ label, bytes: file.bytes }, values, arrays, tensors);
    } catch (error) {
      throw error instanceof DamagedGguf ? formatError(label, error.message) : error;
    }
  }

  get architecture(): string {
    return this.text('general.architecture') ?? 'none';
  }

  /** Returns a number of the model's architecture, such as `block_count`. */
  size(key: string): number | undefined {
    const value = this.#values.get(`${this.architecture}.${key}`);
    return typeof value === 'number' ? value : undefined;
  }

  /** Returns a size that the model must state, from 1 on. */
  requiredSize(key: string): number {
    const value = this.size(key);
    if (value !== undefined && Number.isInteger(value) && value > 0) return value;
    throw formatError(this.label, `it does not state ${this.architecture}.${key}`);
  }

  /** Returns a number above 0 that the model may state. */
  positive(key: string, otherwise: number): number {
    const value = this.size(key) ?? otherwise;
    if (value > 0 && value < Infinity) return value;
    return this.refuse(`its ${this.architecture}.${key} is ${value}`);
  }

  text(key: string): string | undefined {
    const value = this.#values.get(key);
    return typeof value === 'string' ? value : undefined;
  }

  number(key: string): number | undefined {
    const value = this.#values.get(key);
    return typeof value === 'number' ? value : undefined;
  }

  /** Returns an array of texts of the vocabulary: `tokens` or `merges`. */
  texts(key: string): readonly string[] {
    const items = this.#arrays.get(`tokenizer.ggml.${key}`);
    if (items?.every((item) => typeof item === 'string')) return items;
    throw formatError(this.label, `it has no texts tokenizer.ggml.${key}`);
  }

  /** Returns the types of the tokens, by ggml's numbers. */
  tokenTypes(): readonly (string | number)[] {
    return this.#arrays.get('tokenizer.ggml.token_type') ?? [];
  }

  /** Throws `ModelFormatError`, which says what of the model cannot be converted. */
  refuse(reason: string): never {
    throw formatError(this.label, `it cannot be converted to ONNX: ${reason}`);
  }
}
