import {
  type CaptionRecord,
  HostError,
  type NewCaption,
  type NewTranscript,
  type NewVideo,
  type Repositories,
  type RepositoriesWrite,
  type Storage,
  type TranscriptRecord,
  z,
} from 'aana-host/plugin';

export const MediaId = z
  .string()
  .check(z.minLength(1), z.maxLength(36), z.regex(/^[A-Za-z0-9_-]+$/), z.describe('The id of a video.'));

export const Status = z.enum(['created', 'running', 'completed', 'failed']);
export type Status = z.infer<typeof Status>;

export const Metadata = z.strictObject({
  title: z.nullable(z.string().check(z.describe('From the page of the video, or the name of the uploaded file.'))),
  description: z.string().check(z.describe('From the page of the video.')),
  duration: z.nullable(z.number().check(z.describe('Seconds.'))),
});
export type Metadata = z.infer<typeof Metadata>;

/** What is known of an indexed video. */
export interface Content {
  readonly title: string | null;
  /** Seconds. */
  readonly duration: number | null;
  readonly transcript: TranscriptRecord;
  readonly captions: readonly CaptionRecord[];
}

/** The members of `ctx` that keep videos. */
export interface Stores {
  readonly storage: Storage;
  readonly repositories: Repositories & RepositoriesWrite;
}

/** What the plugin keeps of a video beside the rows in the application's tables. */
interface Facts {
  readonly status: Status;
  /** What asked for the index. All attempts of a task have the same. */
  readonly request: string;
  /** The attempt that may change these facts. */
  readonly attempt: string;
  readonly duration: number | null;
  /** The rows of the attempt that has completed. */
  readonly transcription_id?: number;
  readonly caption_ids?: readonly number[];
}

/**
 * Milliseconds for which an attempt counts as alive after its last sign of life. A host that is killed, or a client
 * that leaves, ends an attempt without a chance to say so.
 */
const LEASE_MS = 30_000;
/** Captions that one call stores. */
const BATCH = 500;

/** The videos of a user: rows in the application's tables, and their statuses in the storage of the plugin. */
export class IndexedVideos {
  readonly #stores: Stores;

  constructor({ storage, repositories }: Stores) {
    this.#stores = { storage, repositories };
  }

  /** Throws `NotFoundException` if there is no such video. */
  async status(id: string): Promise<Status> {
    const { storage } = this.#stores;
    for (let facts = await this.#facts(id); ;) {
      if (isOver(facts.status) || (await storage.get(leaseOf(facts))) !== undefined) return facts.status;
      // The attempt may have ended since its facts were read.
      const { attempt, status } = facts;
      facts = await this.#facts(id);
      if (facts.attempt === attempt && facts.status === status) return 'failed';
    }
  }

  /** Throws `NotFoundException`. */
  async metadata(id: string): Promise<Metadata> {
    const { duration } = await this.#facts(id);
    const { title, description } = await this.#stores.repositories.videos.getMetadata(id);
    return { title, description: description ?? '', duration };
  }

  /** Throws `NotFoundException`, and `UnfinishedVideoException` if the video is not or not yet indexed. */
  async content(id: string): Promise<Content> {
    const status = await this.status(id);
    const { duration, transcription_id: transcriptId, caption_ids: captionIds } = await this.#facts(id);
    if (status !== 'completed' || transcriptId === undefined)
      throw new HostError('UnfinishedVideoException', 'conflict', `the video "${id}" has the status "${status}"`, {
        data: { media_id: id, status, message: `The video data is not available, status: ${status}` },
      });
    const { videos, transcripts, captions } = this.#stores.repositories;
    const own = new Set(captionIds);
    const [{ title }, transcript, all] = await Promise.all([
      videos.getMetadata(id),
      transcripts.read(transcriptId),
      own.size === 0 ? [] : captions.list(id).all(),
    ]);
    return { title, duration, transcript, captions: all.filter((caption) => own.has(caption.id)) };
  }

  /** Removes a video with everything that is known of it. An attempt to index it ends. Throws `NotFoundException`. */
  async remove(id: string): Promise<void> {
    await this.#facts(id);
    await this.#forget(id);
    await this.#stores.storage.delete(keyOf(id));
  }

  /** Throws `MediaIdAlreadyExistsException` if an id is taken, unless the same request has taken it. */
  async requireFree(id: string, request: string): Promise<void> {
    const { storage, repositories } = this.#stores;
    const facts = await storage.get<Facts>(keyOf(id));
    if (facts ? facts.request !== request : await repositories.media.exists(id)) throw takenError(id);
  }

  /**
   * Stores a video with the status `created`. What an earlier attempt of the same request has stored is removed. Throws
   * `MediaIdAlreadyExistsException`.
   */
  async begin(
    video: NewVideo & { readonly media_id: string },
    { request, duration }: Pick<Facts, 'request' | 'duration'>,
  ): Promise<Indexing> {
    const { storage, repositories } = this.#stores;
    const { media_id: id } = video;
    const former = await storage.get<Facts>(keyOf(id));
    if (former && former.request !== request) throw takenError(id);
    const facts: Facts = { status: 'created', request, attempt: crypto.randomUUID(), duration };
    const lease = await Lease.take(storage, facts);
    try {
      if (!(await storage.compareAndSet(keyOf(id), former, facts))) throw takenError(id);
      const indexing = new Indexing(id, facts, lease, this.#stores);
      if (former) await this.#forget(id);
      await repositories.videos.save(video);
      if ((await storage.get(keyOf(id))) === undefined) {
        await this.#forget(id); // it was deleted before it had a row
        throw removedError(id);
      }
      return indexing;
    } catch (error) {
      lease[Symbol.dispose]();
      await storage.compareAndSet(keyOf(id), facts, undefined);
      throw error;
    }
  }

  async #facts(id: string): Promise<Facts> {
    const facts = await this.#stores.storage.get<Facts>(keyOf(id));
    if (!facts) throw notFoundError(id, 'does not exist');
    return facts;
  }

  /** Removes the rows of a video, if there are any. */
  async #forget(id: string): Promise<void> {
    await this.#stores.repositories.media.delete(id).catch((error: unknown) => {
      if (!(error instanceof HostError && error.name === 'NotFoundException')) throw error;
    });
  }
}

/**
 * An attempt to index a video. Its end without {@link complete} is the status `failed`. It cannot change a video that
 * was removed, or that another attempt has taken.
 */
export class Indexing implements AsyncDisposable {
  readonly #id: string;
  readonly #lease: Lease;
  readonly #stores: Stores;
  #facts: Facts;

  constructor(id: string, facts: Facts, lease: Lease, stores: Stores) {
    this.#id = id;
    this.#facts = facts;
    this.#lease = lease;
    this.#stores = stores;
  }

  start(): Promise<void> {
    return this.#set({ status: 'running' });
  }

  /** Stores what is known of the video. Resolves with the ids of the rows. */
  async complete(
    transcript: NewTranscript,
    captions: readonly NewCaption[],
  ): Promise<{ transcription_id: number; caption_ids: number[] }> {
    const { repositories } = this.#stores;
    const of = { media_id: this.#id };
    const { id: transcriptId } = await repositories.transcripts.save({ ...transcript, ...of });
    const ids = { transcription_id: transcriptId, caption_ids: [] as number[] };
    for (let at = 0; at < captions.length; at += BATCH) {
      const saved = await repositories.captions.saveAll(
        captions.slice(at, at + BATCH).map((caption) => ({ ...caption, ...of })),
      );
      ids.caption_ids.push(...saved.map(({ id }) => id));
    }
    await this.#set({ status: 'completed', ...ids });
    return ids;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#lease[Symbol.dispose]();
    // A run that was cancelled cannot call the host any more. The end of its lease says the same.
    if (!isOver(this.#facts.status)) await this.#set({ status: 'failed' }).catch(() => {});
  }

  async #set(change: Partial<Facts>): Promise<void> {
    const next = { ...this.#facts, ...change };
    if (!(await this.#stores.storage.compareAndSet(keyOf(this.#id), this.#facts, next))) throw removedError(this.#id);
    this.#facts = next;
  }
}

/** Says that an attempt is alive, until it is disposed or its run ends in any way. */
class Lease implements Disposable {
  readonly #beat: ReturnType<typeof setInterval>;

  private constructor(beat: () => Promise<void>) {
    this.#beat = setInterval(() => void beat().catch(() => {}), LEASE_MS / 3); // the next beat may succeed
  }

  static async take(storage: Storage, facts: Facts): Promise<Lease> {
    const beat = (): Promise<void> => storage.set(leaseOf(facts), true, { expiresInMs: LEASE_MS });
    await beat();
    return new Lease(beat);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#beat);
  }
}

const keyOf = (id: string): string => `video/${id}`;
const leaseOf = ({ attempt }: Facts): string => `lease/${attempt}`;
const isOver = (status: Status): boolean => status === 'completed' || status === 'failed';

const notFoundError = (id: string, what: string): HostError =>
  new HostError('NotFoundException', 'not-found', `the video "${id}" ${what}`, { data: { table: 'video', id } });

const removedError = (id: string): HostError => notFoundError(id, 'was removed while it was indexed');

const takenError = (id: string): HostError =>
  new HostError('MediaIdAlreadyExistsException', 'conflict', `there is a media "${id}" already`, {
    data: { table: 'media', id },
  });
