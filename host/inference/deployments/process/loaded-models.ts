// The models of a multiplexed class in one replica.
import { raceAbort } from '../../../base/core/abort.ts';
import { deferred, type Deferred } from '../../../base/core/deferred.ts';
import { fail, toErrorRecord } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { ReplicaMetric } from '../../rpc/index.ts';
import type { LoadedModel, Multiplexed } from '../class/deployment.ts';

export interface LoadedModelsOptions {
  readonly limits: Multiplexed;
  readonly log: Logger;
  /** Returns an object that may have the members of {@link LoadedModel}. */
  load(id: string): Promise<object> | object;
  /** Called with the ids of the models that are there or being loaded, after these have changed. */
  onChange(ids: readonly string[]): void;
}

/** A model that is not unloaded before `release` is called. */
export interface ModelInUse {
  readonly model: LoadedModel;
  release(): void;
}

interface Entry {
  readonly id: string;
  readonly loaded: Deferred<LoadedModel>;
  /** Set when it is loaded. */
  model: LoadedModel | undefined;
  bytes: number;
  /** Calls that have it or wait for it. */
  users: number;
  /** Whether it was loaded with an earlier configuration. */
  isStale: boolean;
}

/**
 * Loads models when they are first asked for. Above the limits it unloads the model that was used least recently and
 * that no call uses. When calls use all of them, the least recently used one takes no more calls, and is unloaded when
 * its calls have ended; calls that ask for it again wait behind the others. So no call waits for ever, and no model is
 * there twice.
 */
export class LoadedModels {
  readonly #options: LoadedModelsOptions;
  /** By id, the least recently used one first. A waiting one has no place yet. */
  readonly #entries = new Map<string, Entry>();
  /** Entries that wait for a place, in the order of their first calls. */
  readonly #waiting = new Set<Entry>();
  /** Entries that are being loaded or are loaded, until they are unloaded. */
  readonly #placed = new Set<Entry>();
  /** Those of them that take no more calls. */
  readonly #leaving = new Set<Entry>();
  readonly #counts = { loaded: 0, failed: 0, unloaded: 0 };
  #reported = '';

  constructor(options: LoadedModelsOptions) {
    this.#options = options;
  }

  /** Resolves with the model when it is loaded. Rejects with the error of the load, or with the signal's reason. */
  async use(id: string, signal?: AbortSignal): Promise<ModelInUse> {
    signal?.throwIfAborted();
    const entry = this.#entries.get(id) ?? this.#wanted(id);
    entry.users += 1;
    this.#touch(entry);
    this.#balance();
    try {
      const model = await raceAbort(entry.loaded.promise, signal);
      return { model, release: () => this.#release(entry) };
    } catch (error) {
      this.#release(entry);
      throw error;
    }
  }

  /** Loads each model again at the next call that asks for it. Running calls keep theirs. */
  renew(): void {
    for (const entry of [...this.#entries.values()].filter((one) => this.#placed.has(one))) {
      entry.isStale = true;
      this.#leave(entry);
    }
    this.#balance();
  }

  /** Unloads all models. Called when no call runs any more. */
  async close(): Promise<void> {
    await Promise.all([...this.#placed].map((entry) => this.#dispose(entry)));
  }

  metrics(): ReplicaMetric[] {
    const { loaded, failed, unloaded } = this.#counts;
    const present = [...this.#placed].filter(({ model }) => model !== undefined);
    const bytes = present.reduce((sum, entry) => sum + entry.bytes, 0);
    return [
      {
        ...{ name: 'aana.deployment.models', kind: 'gauge', unit: '{model}' },
        ...{ description: 'Loaded models of a deployment with many.', values: [{ value: present.length }] },
      },
      {
        ...{ name: 'aana.deployment.models.memory', kind: 'gauge', unit: 'By' },
        ...{ description: 'Bytes of these models, as their class tells them.', values: [{ value: bytes }] },
      },
      {
        ...{ name: 'aana.deployment.models.loads', kind: 'counter', unit: '{model}' },
        description: 'Loads of such models.',
        values: [
          { value: loaded, attributes: { 'aana.outcome': 'ok' } },
          { value: failed, attributes: { 'aana.outcome': 'failed' } },
        ],
      },
      {
        ...{ name: 'aana.deployment.models.unloads', kind: 'counter', unit: '{model}' },
        ...{ description: 'Models that were unloaded for others.', values: [{ value: unloaded }] },
      },
    ];
  }

  #wanted(id: string): Entry {
    const loaded = deferred<LoadedModel>();
    loaded.promise.catch(() => {}); // its callers may have left
    const entry: Entry = { id, loaded, model: undefined, bytes: 0, users: 0, isStale: false };
    this.#waiting.add(entry);
    return entry;
  }

  /** Makes it the most recently used one. */
  #touch(entry: Entry): void {
    this.#entries.delete(entry.id);
    this.#entries.set(entry.id, entry);
  }

  #release(entry: Entry): void {
    entry.users -= 1;
    if (this.#entries.get(entry.id) === entry) {
      if (entry.users === 0 && this.#waiting.delete(entry)) this.#entries.delete(entry.id); // nobody wants it any more
      else this.#touch(entry);
    }
    if (entry.users === 0 && this.#leaving.has(entry)) void this.#unload(entry);
    this.#balance();
  }

  /** Gives places to those that wait for one, and makes room for the rest. */
  #balance(): void {
    for (const entry of this.#waiting) {
      if (!this.#hasRoom) break;
      if ([...this.#leaving].some(({ id, isStale }) => id === entry.id && !isStale)) continue;
      this.#waiting.delete(entry);
      this.#placed.add(entry);
      void this.#load(entry);
    }
    const { maxBytes = Infinity } = this.#options.limits;
    for (;;) {
      const staying = [...this.#entries.values()].filter(({ model }) => model !== undefined);
      const idle = staying.find(({ users }) => users === 0);
      const bytes = staying.reduce((sum, entry) => sum + entry.bytes, 0);
      const isWanted = this.#leaving.size < this.#waiting.size;
      const leaving = isWanted ? (idle ?? staying[0]) : bytes > maxBytes ? idle : undefined;
      if (!leaving) break;
      this.#leave(leaving);
    }
    this.#report();
  }

  get #hasRoom(): boolean {
    const { maxModels, maxBytes = Infinity } = this.#options.limits;
    const bytes = [...this.#placed].reduce((sum, entry) => sum + entry.bytes, 0);
    return this.#placed.size < maxModels && bytes < maxBytes;
  }

  async #load(entry: Entry): Promise<void> {
    const { id } = entry;
    const { maxBytes = Infinity } = this.#options.limits;
    try {
      const model: LoadedModel = await this.#options.load(id);
      const bytes = bytesOf(id, model);
      if (bytes > maxBytes) {
        await this.#end(id, model);
        throw fail('ModelTooLarge', `model ${id} has ${bytes} bytes; the most for all models together is ${maxBytes}`);
      }
      this.#counts.loaded += 1;
      Object.assign(entry, { model, bytes });
      entry.loaded.resolve(model);
      if (entry.users === 0 && this.#leaving.has(entry)) await this.#unload(entry);
    } catch (error) {
      this.#counts.failed += 1;
      this.#forget(entry);
      entry.loaded.reject(error);
    }
    this.#balance();
  }

  /** Lets no more calls have it. */
  #leave(entry: Entry): void {
    this.#entries.delete(entry.id);
    this.#leaving.add(entry);
    if (entry.users === 0 && entry.model) void this.#unload(entry);
  }

  async #unload(entry: Entry): Promise<void> {
    if (!entry.model) return; // it is still being loaded
    this.#counts.unloaded += 1;
    await this.#dispose(entry);
    this.#balance();
  }

  async #dispose(entry: Entry): Promise<void> {
    const { id, model } = entry;
    entry.model = undefined;
    if (model) await this.#end(id, model);
    this.#forget(entry);
  }

  async #end(id: string, model: LoadedModel): Promise<void> {
    try {
      await model.dispose?.();
    } catch (error) {
      this.#options.log.warn('unloading a model failed', { model: id, error: toErrorRecord(error).message });
    }
  }

  #forget(entry: Entry): void {
    if (this.#entries.get(entry.id) === entry) this.#entries.delete(entry.id);
    this.#placed.delete(entry);
    this.#leaving.delete(entry);
  }

  #report(): void {
    const ids = [...this.#entries.values()].filter((entry) => this.#placed.has(entry)).map(({ id }) => id);
    const text = JSON.stringify(ids.toSorted());
    if (text === this.#reported) return;
    this.#reported = text;
    this.#options.onChange(ids);
  }
}

/** Returns the bytes of a model. Throws `TypeError` for what JavaScript lets a class return. */
function bytesOf(id: string, model: unknown): number {
  if (typeof model !== 'object' || model === null) throw new TypeError(`loadModel returned no object for model ${id}`);
  const { bytes = 0 } = model as LoadedModel;
  if (typeof bytes === 'number' && bytes >= 0 && bytes < Infinity) return bytes;
  throw new TypeError(`the bytes of model ${id} must be a number from 0, not ${String(bytes)}`);
}
