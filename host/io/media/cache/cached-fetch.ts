import { createHash, type Hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { rm } from 'node:fs/promises';
import type { Hop } from '../../outgoing/index.ts';
import {
  type AnswerTimes,
  conditionsFor,
  fieldsOf,
  forbidsKeeping,
  isFresh,
  isKeepable,
  isSameVersion,
  renewed,
} from './freshness.ts';
import type { CacheKey, KeptFile, MediaCache } from './media-cache.ts';

/** A new file that is being saved. */
interface Saving extends AnswerTimes {
  readonly headers: IncomingHttpHeaders;
  readonly hash: Hash;
}

/** One fetch of a user. It uses the cache for each of its requests, because a redirect leads to another URL. */
export class CachedFetch {
  readonly #cache: MediaCache;
  readonly #user: string;
  readonly #path: string;
  #key: CacheKey | undefined;
  #kept: KeptFile | undefined;
  #requestedAt = 0;
  #saving: Saving | undefined;

  /**
   * @param tenant whose fetch it is
   * @param path a file that does not exist
   */
  constructor(cache: MediaCache, tenant: string, path: string) {
    this.#cache = cache;
    this.#user = digest(tenant);
    this.#path = path;
  }

  /** The kept file that lies at the path. */
  get kept(): KeptFile | undefined {
    return this.#kept;
  }

  /**
   * Puts the kept file of a request to the path, if there is one. Returns the further fields of the request, or
   * undefined when the file is fresh and no request is needed. The URL and the fields of a hop tell its request.
   */
  async ask({ url, headers }: Hop, signal: AbortSignal): Promise<Hop['headers'] | undefined> {
    await this.#removeKept();
    this.#key = { user: this.#user, url: digest(JSON.stringify([url.origin, url.pathname, url.search, headers])) };
    this.#requestedAt = this.#cache.now();
    this.#kept = await this.#cache.take(this.#key, this.#path, signal);
    if (!this.#kept) return [];
    return isFresh(this.#kept, this.#requestedAt) ? undefined : conditionsFor(this.#kept.fields);
  }

  /** Returns whether an answer 304 speaks of the kept file. If so, the file stays kept, as the answer allows. */
  async confirm(headers: IncomingHttpHeaders): Promise<boolean> {
    const { sha256, bytes, fields } = this.#kept!;
    if (!isSameVersion(fields, headers)) return false;
    const times = { requestedAt: this.#requestedAt, receivedAt: this.#cache.now() };
    if (forbidsKeeping(headers)) await this.#cache.forget(this.#key!);
    else await this.#cache.put(this.#key!, { sha256, bytes, fields: renewed(fields, headers), ...times }, this.#path);
    return true;
  }

  /** Notes that an answer with a new file begins. Removes the kept one from the path, and makes room on the disk. */
  async begin(headers: IncomingHttpHeaders): Promise<void> {
    const times = { requestedAt: this.#requestedAt, receivedAt: this.#cache.now() };
    this.#saving = { headers, hash: createHash('sha256'), ...times };
    await this.#removeKept();
    await this.#cache.makeRoom(Number(headers['content-length'] ?? 0));
  }

  /** Notes the next bytes of the new file. */
  add(bytes: Uint8Array): void {
    this.#saving!.hash.update(bytes);
  }

  /** Keeps the new file of so many bytes at the path, if its answer allows that; otherwise forgets the kept one. */
  async keep(bytes: number): Promise<void> {
    const { headers, hash, ...times } = this.#saving!;
    if (!isKeepable(headers, times)) return this.#cache.forget(this.#key!);
    const kept = { sha256: hash.digest('hex'), bytes, fields: fieldsOf(headers), ...times };
    await this.#cache.put(this.#key!, kept, this.#path);
  }

  async #removeKept(): Promise<void> {
    if (this.#kept) await rm(this.#path, { force: true });
    this.#kept = undefined;
  }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
