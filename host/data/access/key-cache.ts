import type { Logger } from '../../base/core/log/logger.ts';
import { type ApiKeyRecord, hashApiKey, type TracedStorage } from '../storage/index.ts';
import { AccessError } from './errors.ts';
import { KeyLookUps } from './key-look-ups.ts';
import { noteLastUse } from './last-use.ts';

/**
 * How long a found key is used without another look-up. A key that another process has revoked may be accepted for so
 * long.
 */
const FRESH_MS = 5000;
const MAX_CACHED = 10_000;

interface Cached {
  /** The version of the keys at the time of the look-up. */
  readonly version: number;
  readonly record: ApiKeyRecord;
  /** By the monotonic clock of this process. */
  readonly staleAt: number;
  readonly expiresAt: number;
}

/** Finds keys, and keeps for a short time those that it has found. */
export class KeyCache {
  readonly #log: Logger;
  readonly #freshMs: number;
  readonly #lookUps: KeyLookUps;
  /**
   * Keys by their hashes, so that no key stays in memory longer than its request. Keys that are no longer fresh are
   * looked up again without a limit, because nobody can have guessed them.
   */
  readonly #cache = new Map<string, Cached>();
  readonly #looking = new Map<string, Promise<Cached | undefined>>();
  #version = 0;

  /** `lookUps` limits the look-ups of unknown keys. Default: no limit. */
  constructor({
    log,
    freshMs = FRESH_MS,
    lookUps = new KeyLookUps(null),
  }: {
    readonly log: Logger;
    readonly freshMs?: number | undefined;
    readonly lookUps?: KeyLookUps | undefined;
  }) {
    this.#log = log;
    this.#freshMs = freshMs;
    this.#lookUps = lookUps;
  }

  /** Makes the next use of every key look it up again. */
  forget(): void {
    this.#version += 1;
    this.#looking.clear();
  }

  /** Returns the key that a client at this address has sent; undefined if it does not exist. */
  async find(apiKey: string, address: string | undefined, storage: TracedStorage): Promise<Cached | undefined> {
    const hash = hashApiKey(apiKey);
    const known = this.#cache.get(hash);
    if (known && known.version === this.#version && known.staleAt > performance.now()) return known;
    const looking =
      this.#looking.get(hash) ??
      this.#lookUps.run(known ? undefined : address, () => this.#lookUp(apiKey, hash, storage));
    this.#looking.set(hash, looking);
    try {
      return await looking;
    } catch (cause) {
      if (cause instanceof AccessError) throw cause;
      throw new AccessError('ApiKeyValidationFailed', 'API keys cannot be checked at the moment', {}, { cause });
    } finally {
      if (this.#looking.get(hash) === looking) this.#looking.delete(hash);
    }
  }

  async #lookUp(apiKey: string, hash: string, storage: TracedStorage): Promise<Cached | undefined> {
    const version = this.#version;
    const { record, now } = await storage.read(async ({ apiKeys, connection }) => ({
      record: await apiKeys.find(apiKey),
      now: connection.now(),
    }));
    this.#cache.delete(hash);
    if (!record) return undefined;
    const at = performance.now();
    const found = {
      version,
      record,
      staleAt: at + this.#freshMs,
      expiresAt: record.expired_at === null ? Infinity : at + record.expired_at - now,
    };
    this.#keep(hash, found); // after a change during the look-up it has an older version, and is used only once
    noteLastUse(record, now, storage, this.#log);
    return found;
  }

  #keep(hash: string, found: Cached): void {
    const [oldest] = this.#cache.keys();
    if (this.#cache.size >= MAX_CACHED && oldest !== undefined) this.#cache.delete(oldest);
    this.#cache.set(hash, found);
  }
}
