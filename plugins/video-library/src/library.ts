import { HostError, type Storage, type TranscriptChunk, type VectorChunk, type Vectors, z } from 'aana-host/plugin';

export const VideoId = z
  .string()
  .check(z.minLength(1), z.maxLength(36), z.regex(/^[A-Za-z0-9_-]+$/), z.describe('The id of a video.'));

/** What the library knows of a video. */
export const Video = z.strictObject({
  id: VideoId,
  title: z.nullable(z.string().check(z.describe('From the page of the video, or the name of the uploaded file.'))),
  duration: z.nullable(z.number().check(z.describe('Seconds.'))),
  passages: z.int().check(z.describe('Parts of its speech that a search can find.')),
});
export type Video = z.infer<typeof Video>;

/** A part of the speech of a video. */
export const Passage = z.strictObject({
  video: VideoId,
  title: z.nullable(z.string()),
  start: z.number().check(z.describe('Seconds from the start of the video.')),
  end: z.number(),
  speakers: z.array(z.string()),
  text: z.string(),
});
export type Passage = z.infer<typeof Passage>;

/** A question to the library. */
export const Question = z.strictObject({
  question: z.string().check(z.minLength(1), z.maxLength(4000)),
  videos: z.optional(
    z.array(VideoId).check(z.minLength(1), z.maxLength(500), z.describe('Only in these videos. Default: in all.')),
  ),
});

/** What the library needs of the context of a run. */
interface Stores {
  readonly storage: Storage;
  readonly vectors: Vectors;
  readonly embeddings: {
    embed(text: string, options: object): Promise<{ readonly embedding: readonly number[] }>;
    embedBatch(
      texts: readonly string[],
      options: object,
    ): Promise<{ readonly embedding: readonly (readonly number[])[] }>;
  };
}

const COLLECTION = 'videos';
/** The vectors of the deployment with this name. It has no other name that a plugin can see. */
const MODEL = 'embedding_deployment';
/** Passages whose vectors are computed and stored together. */
const BATCH = 200;
/** Most characters of a text of metadata. */
const MOST_CHARS = 512;
/** A model for embeddings reads a few hundred tokens. What a passage has beyond them is found by its words only. */
const EMBEDDED = { truncate: 'end' } as const;
const keyOf = (id: string): string => `video/${id}`;

/** The videos of a user, and the passages of their speech. */
export class Library {
  readonly #stores: Stores;

  constructor(stores: Stores) {
    this.#stores = stores;
  }

  /** Adds a video with the passages of its speech, or replaces one with the same id. */
  async put(video: Omit<Video, 'passages'>, passages: readonly TranscriptChunk[]): Promise<Video> {
    const { storage, vectors, embeddings } = this.#stores;
    const chunks: VectorChunk[] = [];
    for (let at = 0; at < passages.length; at += BATCH) {
      const batch = passages.slice(at, at + BATCH);
      const { embedding } = await embeddings.embedBatch(
        batch.map(({ text }) => text),
        EMBEDDED,
      );
      chunks.push(...batch.map((passage, n) => chunkOf(video, passage, at + n, embedding[n]!)));
    }
    const [first] = chunks;
    if (first) await this.#ensure(first.vector.length);
    await this.#forget(video.id);
    const collection = vectors.collection(COLLECTION, MODEL);
    for (let at = 0; at < chunks.length; at += BATCH) await collection.upsert(chunks.slice(at, at + BATCH));
    const stored = { ...video, passages: chunks.length };
    await storage.set(keyOf(video.id), stored);
    return stored;
  }

  /** Returns all videos in the order of their ids. */
  async list(): Promise<Video[]> {
    return (await this.#stores.storage.entries<Video>(keyOf('')).all()).map(({ value }) => value);
  }

  /** Removes a video with its passages. Throws `NotFoundException` if there is none. */
  async remove(id: string): Promise<void> {
    await this.#forget(id);
    if (!(await this.#stores.storage.delete(keyOf(id))))
      throw new HostError('NotFoundException', 'not-found', `the library has no video ${JSON.stringify(id)}`, {
        data: { table: 'video', id },
      });
  }

  /** Returns the passages that fit a question best, the best first. */
  async search(
    { question, videos }: z.infer<typeof Question>,
    limit: number,
  ): Promise<{ readonly passage: Passage; readonly score: number }[]> {
    const { vectors, embeddings } = this.#stores;
    const { embedding: vector } = await embeddings.embed(question, EMBEDDED);
    const filter = videos && ({ type: 'in', key: 'video', value: videos } as const);
    const found = await orNothing(
      vectors.collection(COLLECTION, MODEL).search({ vector, text: question, filter, limit }),
    );
    return (found ?? []).map(({ text, metadata, score }) => ({ passage: passageOf(text, metadata), score }));
  }

  /** Makes the collection. An empty one is replaced, because it may be for another model. */
  async #ensure(dimensions: number): Promise<void> {
    const { vectors } = this.#stores;
    const known = (await vectors.list().all()).find(({ name }) => name === COLLECTION);
    if (known?.chunks === 0 && known.dimensions !== dimensions) await vectors.delete(COLLECTION);
    await vectors.ensure(COLLECTION, { model: MODEL, dimensions });
  }

  /** Removes the passages of a video, if it has any. */
  async #forget(id: string): Promise<void> {
    await orNothing(this.#stores.vectors.collection(COLLECTION, MODEL).deleteDocument(id));
  }
}

/** Returns undefined where there is no collection, because no video has been added yet. */
const orNothing = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    if (error instanceof HostError && error.name === 'NotFoundException') return undefined;
    throw error;
  });

function chunkOf(
  { id, title }: Omit<Video, 'passages'>,
  { text, time_interval: { start, end }, speakers }: TranscriptChunk,
  n: number,
  vector: readonly number[],
): VectorChunk {
  const metadata = {
    ...{ video: id, start, end, speakers: cut(speakers.join('\n')) },
    ...(title !== null && { title: cut(title) }),
  };
  return { id: `${id}/${n}`, document: id, text, metadata, vector };
}

function passageOf(text: string, { video, title, start, end, speakers }: Readonly<Record<string, unknown>>): Passage {
  return {
    video: String(video),
    title: title === undefined ? null : String(title),
    start: Number(start),
    end: Number(end),
    speakers: String(speakers)
      .split('\n')
      .filter((name) => name !== ''),
    text,
  };
}

/** Cuts a text between characters. */
const cut = (text: string): string => {
  const kept = text.slice(0, MOST_CHARS);
  return /[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept;
};
