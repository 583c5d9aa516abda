import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AanaError } from '../core/errors.ts';
import { randomSuffix } from '../core/ids.ts';

export interface FileStoreOptions {
  /** A folder of its own; made when something is stored. */
  readonly dir: string;
  readonly maxValueBytes?: number;
  /** Of one namespace. */
  readonly maxKeys?: number;
  /** Of all values of one namespace. */
  readonly maxBytes?: number;
}

/** Written in hexadecimal they are names of files. */
const MAX_KEY_BYTES = 120;
const MIB = 1024 ** 2;

interface Usage {
  readonly sizes: Map<string, number>;
  bytes: number;
}

/**
 * Values by key in namespaces: a folder a namespace, a file a key. A value is replaced whole or not at all, also when the process dies.
 * Several processes may share the folder; each counts the limits by what it found there when it first wrote, and its own changes.
 */
export class FileStore {
  readonly #dir: string;
  readonly #limits: { readonly maxValueBytes: number; readonly maxKeys: number; readonly maxBytes: number };
  readonly #usage = new Map<string, Promise<Usage>>();
  readonly #writing = new Map<string, Promise<unknown>>();

  constructor({ dir, maxValueBytes = MIB, maxKeys = 10_000, maxBytes = 64 * MIB }: FileStoreOptions) {
    this.#dir = dir;
    this.#limits = { maxValueBytes, maxKeys, maxBytes };
  }

  async get(namespace: string, key: string): Promise<Uint8Array | undefined> {
    const bytes = await readFile(this.#path(namespace, key)).catch(ignoreMissing);
    return bytes && new Uint8Array(bytes); // its own memory: it goes to another thread
  }

  /** Throws `InvalidKey`, `ValueTooLarge` or `StorageFull`; the old value is then as it was. */
  set(namespace: string, key: string, value: Uint8Array): Promise<void> {
    return this.#inTurn(namespace, async () => {
      const path = this.#path(namespace, key);
      const usage = await this.#usageOf(namespace);
      const name = fileName(key);
      const bytes = usage.bytes - (usage.sizes.get(name) ?? 0) + value.length;
      this.#check(value.length, usage.sizes.size + (usage.sizes.has(name) ? 0 : 1), bytes);
      await mkdir(join(this.#dir, namespace), { recursive: true });
      const temporary = join(this.#dir, namespace, `.${randomSuffix()}`);
      try {
        await writeFile(temporary, value, { mode: 0o600, flush: true });
        await rename(temporary, path);
      } finally {
        await rm(temporary, { force: true });
      }
      usage.sizes.set(name, value.length);
      usage.bytes = bytes;
    });
  }

  /** Whether it was there. */
  delete(namespace: string, key: string): Promise<boolean> {
    return this.#inTurn(namespace, async () => {
      const path = this.#path(namespace, key);
      const isThere = (await stat(path).catch(ignoreMissing)) !== undefined;
      await rm(path, { force: true });
      const usage = await this.#usageOf(namespace);
      usage.bytes -= usage.sizes.get(fileName(key)) ?? 0;
      usage.sizes.delete(fileName(key));
      return isThere;
    });
  }

  /** The first `limit` keys that begin with `prefix` and come after `after`, in the order of their bytes. */
  async list(namespace: string, { prefix, after, limit }: { prefix: string; after?: string | undefined; limit: number }): Promise<string[]> {
    const begin = Buffer.from(prefix).toString('hex');
    const last = after === undefined ? '' : Buffer.from(after).toString('hex');
    const names = (await readdir(join(this.#dir, checkedNamespace(namespace))).catch(ignoreMissing)) ?? [];
    return names
      .filter((name) => !name.startsWith('.') && name.startsWith(begin) && name > last)
      .sort() // hexadecimal digits sort as the bytes do
      .slice(0, limit)
      .map((name) => Buffer.from(name, 'hex').toString());
  }

  #path(namespace: string, key: string): string {
    return join(this.#dir, checkedNamespace(namespace), fileName(key));
  }

  #check(valueBytes: number, keys: number, bytes: number): void {
    const { maxValueBytes, maxKeys, maxBytes } = this.#limits;
    if (valueBytes > maxValueBytes) {
      throw new AanaError('ValueTooLarge', 'too-large', `the value has ${valueBytes} bytes, ${maxValueBytes} can be stored`, { data: { bytes: valueBytes, limit: maxValueBytes } });
    }
    if (keys > maxKeys) throw new AanaError('StorageFull', 'too-large', `the storage holds ${maxKeys} keys at most; remove some`, { data: { limit: maxKeys } });
    if (bytes > maxBytes) throw new AanaError('StorageFull', 'too-large', `the storage holds ${maxBytes} bytes at most; remove some`, { data: { limit: maxBytes } });
  }

  /** Writes of one namespace one after the other, so that the limits hold. */
  #inTurn<T>(namespace: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#writing.get(namespace) ?? Promise.resolve()).then(work);
    const settled = result.catch(() => {}); // its caller sees it
    this.#writing.set(namespace, settled);
    void settled.then(() => this.#writing.get(namespace) === settled && this.#writing.delete(namespace));
    return result;
  }

  #usageOf(namespace: string): Promise<Usage> {
    let usage = this.#usage.get(namespace);
    if (!usage) {
      usage = measure(join(this.#dir, checkedNamespace(namespace)));
      this.#usage.set(namespace, usage);
      usage.catch(() => this.#usage.delete(namespace)); // another try may work
    }
    return usage;
  }
}

/** Also removes what a process that died while it wrote has left. */
async function measure(dir: string): Promise<Usage> {
  const sizes = new Map<string, number>();
  for (const name of (await readdir(dir).catch(ignoreMissing)) ?? []) {
    const found = await stat(join(dir, name)).catch(ignoreMissing);
    if (found && !name.startsWith('.')) sizes.set(name, found.size);
    else if (found && Date.now() - found.mtimeMs > 60_000) await rm(join(dir, name), { force: true });
  }
  return { sizes, bytes: [...sizes.values()].reduce((sum, size) => sum + size, 0) };
}

function fileName(key: string): string {
  const bytes = Buffer.from(key);
  if (bytes.length < 1 || bytes.length > MAX_KEY_BYTES) throw new AanaError('InvalidKey', 'invalid-input', `a key has 1 to ${MAX_KEY_BYTES} bytes, not ${bytes.length}`);
  return bytes.toString('hex');
}

function checkedNamespace(namespace: string): string {
  if (!/^[a-z0-9-]+$/.test(namespace)) throw new AanaError('InvalidKey', 'invalid-input', `"${namespace}" cannot be a namespace`);
  return namespace;
}

function ignoreMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}
