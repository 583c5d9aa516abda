import { formatError } from './format-error.ts';
import { PartedFile } from './parted-file.ts';
import { readSafetensors, type SafetensorsEntry } from './safetensors.ts';

/** A tensor, with the file that it is in. */
export interface ShardEntry extends SafetensorsEntry {
  readonly file: PartedFile;
}

/** The tensors of a model in one or several safetensors files. Owns the open files. */
export class SafetensorsShards implements AsyncDisposable {
  /** The name of the first file in error messages. */
  readonly label: string;
  readonly #files: readonly PartedFile[];
  readonly #tensors: ReadonlyMap<string, ShardEntry>;

  private constructor(files: readonly PartedFile[], tensors: ReadonlyMap<string, ShardEntry>) {
    this.label = files[0]?.label ?? 'model.safetensors';
    this.#files = files;
    this.#tensors = tensors;
  }

  /** Throws `ModelFormatError` for a truncated or foreign file, and for a tensor that is in two files. */
  static async open(paths: readonly string[]): Promise<SafetensorsShards> {
    const files: PartedFile[] = [];
    const tensors = new Map<string, ShardEntry>();
    try {
      for (const path of paths) {
        const file = await PartedFile.open([path]);
        files.push(file);
        for (const [name, entry] of await readSafetensors(file)) {
          if (tensors.has(name)) throw formatError(file.label, `${name} is in another file of the model, too`);
          tensors.set(name, { ...entry, file });
        }
      }
    } catch (error) {
      await Promise.all(files.map((file) => file[Symbol.asyncDispose]()));
      throw error;
    }
    return new SafetensorsShards(files, tensors);
  }

  get(name: string): ShardEntry | undefined {
    return this.#tensors.get(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#files.map((file) => file[Symbol.asyncDispose]()));
  }
}
