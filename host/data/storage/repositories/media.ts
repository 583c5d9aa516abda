import { type AanaError, fail } from '../../../base/core/errors.ts';
import { newId } from '../../../base/core/ids.ts';
import type { Connection, Statement } from '../database.ts';
import { checkText, notFound } from '../errors.ts';
import { Repository } from '../statements.ts';
import { checkId, type MediaOwner, rowBytes, sql } from './media-owner.ts';

export interface VideoRecord {
  readonly path: string | null;
  readonly url: string | null;
  readonly title: string | null;
  readonly description: string | null;
}

export interface CaptionRecord {
  /** The media of the captions. They are removed with it. */
  readonly media_id: string | null;
  readonly model: string;
  /** At least 0. */
  readonly frame_id: number;
  readonly caption: string;
  /** Seconds from the start of the media. */
  readonly timestamp: number;
  /** The name of an application for this kind of captions. */
  readonly caption_type: string;
}

export interface TranscriptRecord {
  readonly media_id: string | null;
  readonly model: string;
  readonly transcript: string;
  /** The segments of a transcription, as JSON. */
  readonly segments: readonly unknown[];
  readonly language: string;
  /** From 0 to 1. */
  readonly language_confidence: number;
  readonly transcript_type: string;
}

/** A transcript without its texts. */
export type TranscriptInfo = Omit<TranscriptRecord, 'transcript' | 'segments'>;

/** A part of a list: the first `limit` entries after `after`. Default: all entries. */
export interface Page<After> {
  readonly after?: After | undefined;
  readonly limit?: number | undefined;
}

const ALL = Number.MAX_SAFE_INTEGER;
/** The largest number of the column's type. */
const MAX_FRAME_ID = 2 ** 31 - 1;
/** The databases differ in the depth that they can store above this. */
const MAX_DEPTH = 100;

type Stored<T> = T & { readonly id: number };
type Optional<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>;
type NewCaption = Optional<CaptionRecord, 'media_id' | 'caption_type'>;
type NewTranscript = Optional<TranscriptRecord, 'media_id' | 'transcript_type'>;

/** What one owner has in the tables of media. */
class OfOwner extends Repository {
  protected readonly owner: MediaOwner;

  constructor(connection: Connection, owner: MediaOwner) {
    super(connection);
    this.owner = owner;
  }

  /** Returns the one row of a statement. Throws `NotFoundException` where there is none. */
  protected async row<R extends object>(statement: Statement, what: string, id: number): Promise<R> {
    // A database may have no type for other numbers.
    const isId = Number.isSafeInteger(id) && id > 0;
    const [row] = isId ? await this.connection.query<R>(statement, [this.owner.id, id]) : [];
    if (!row) throw notFound(what, String(id));
    return row;
  }
}

/** Media of any kind of one owner by their id. Everything that belongs to a media is removed with it. */
export class MediaRepository extends OfOwner {
  async exists(id: string): Promise<boolean> {
    return (await this.owner.find(id)) !== undefined;
  }

  /**
   * Stores a media. Throws `MediaIdAlreadyExistsException`, also when two callers store it at once, and `StorageFull`.
   */
  async create(id: string, mediaType: string): Promise<void> {
    await this.createRow(id, checkText('the media type', mediaType), rowBytes(id, mediaType));
  }

  /** Stores a media that counts `bytes`. Returns the id of its row. */
  async createRow(id: string, mediaType: string, bytes: number): Promise<string> {
    const length = [...checkId(id)].length;
    if (length < 1 || length > 255)
      throw fail('ValidationError', `the id of a media has 1 to 255 characters, not ${length}`);
    await this.owner.count(bytes);
    // Ids of rows are unique among all owners. Ids that users choose are not.
    const [name, rowId] = this.owner.isNobody ? [null, id] : [id, newId()];
    const [row] = await this.connection.query<{ id: string }>(sql.insert, [
      this.owner.id,
      name,
      rowId,
      mediaType,
      bytes,
      this.connection.now(),
    ]);
    if (!row)
      throw fail('MediaIdAlreadyExistsException', `there is a media ${JSON.stringify(id)} already`, {
        data: { table: 'media', id },
      });
    return row.id;
  }

  /** Throws `NotFoundException`. */
  async delete(id: string): Promise<void> {
    const [size] = await this.connection.query<{ bytes: number }>(sql.size, [this.owner.id, checkId(id)]);
    if ((await this.connection.query(sql.remove, [this.owner.id, id])).length === 0) throw notFound('media', id);
    await this.owner.count(-(size?.bytes ?? 0));
  }
}

/** Videos: media with a place and a title. */
export class VideoRepository extends OfOwner {
  readonly #media: MediaRepository;

  constructor(connection: Connection, media: MediaRepository, owner: MediaOwner) {
    super(connection, owner);
    this.#media = media;
  }

  /** Stores a video, with a new id if it has none. Throws `MediaIdAlreadyExistsException`. */
  async save({
    media_id: id = newId(),
    ...video
  }: Partial<VideoRecord> & { readonly media_id?: string | undefined }): Promise<{ media_id: string }> {
    const { path = null, url = null, title = null, description = null } = video;
    for (const [what, text] of Object.entries({ path, url, title, description }))
      if (text !== null) checkText(what, text);
    const row = await this.#media.createRow(id, 'video', rowBytes(id, path, url, title, description));
    await this.connection.query(sql.insertVideo, [row, path, url, title, description]);
    return { media_id: id };
  }

  /** Throws `NotFoundException`. */
  async getMetadata(mediaId: string): Promise<VideoRecord & { readonly media_id: string }> {
    const [row] = await this.connection.query<VideoRecord & { id: string }>(sql.readVideo, [
      this.owner.id,
      checkId(mediaId),
    ]);
    if (!row) throw notFound('video', mediaId);
    return videoFromRow(row);
  }

  /** Returns the videos in the order of their ids. */
  async list({ after = '', limit = ALL }: Page<string> = {}): Promise<(VideoRecord & { readonly media_id: string })[]> {
    return (
      await this.connection.query<VideoRecord & { id: string }>(sql.listVideos, [this.owner.id, checkId(after), limit])
    ).map(videoFromRow);
  }
}

export class CaptionRepository extends OfOwner {
  /**
   * Stores a caption. Throws `ValidationError` when a number is out of its range, and `NotFoundException` when the
   * media does not exist.
   */
  async save(record: NewCaption): Promise<Stored<CaptionRecord>> {
    const [stored] = await this.saveAll([record]);
    return stored!;
  }

  /** Stores captions in this order. Throws like {@link save}. */
  async saveAll(records: readonly NewCaption[]): Promise<Stored<CaptionRecord>[]> {
    const captions = records.map(checkedCaption);
    const rows = await this.owner.require(captions.map(({ media_id: mediaId }) => mediaId));
    const sizes = captions.map(({ model, caption, caption_type: type }) => rowBytes(model, caption, type));
    await this.owner.count(sizes.reduce((sum, bytes) => sum + bytes, 0));
    const stored: Stored<CaptionRecord>[] = [];
    for (const [index, each] of captions.entries()) {
      const { media_id: mediaId, model, frame_id: frameId, caption, timestamp, caption_type: type } = each;
      const [row] = await this.connection.query<{ id: number }>(sql.insertCaption, [
        this.owner.id,
        rows.get(mediaId) ?? null,
        model,
        frameId,
        caption,
        timestamp,
        type,
        sizes[index] ?? 0,
        this.connection.now(),
      ]);
      stored.push({ id: row?.id ?? 0, ...each });
    }
    return stored;
  }

  /** Throws `NotFoundException`. */
  read(id: number): Promise<Stored<CaptionRecord>> {
    return this.row(sql.readCaption, 'caption', id);
  }

  /** Returns the captions of one media in the order of their times. */
  list(
    mediaId: string,
    { after = { timestamp: -1, id: 0 }, limit = ALL }: Page<{ readonly timestamp: number; readonly id: number }> = {},
  ): Promise<Stored<CaptionRecord>[]> {
    return this.connection.query<Stored<CaptionRecord>>(sql.listCaptions, [
      this.owner.id,
      checkId(mediaId),
      after.timestamp,
      after.id,
      limit,
    ]);
  }

  async delete(id: number): Promise<void> {
    const { bytes } = await this.row<{ bytes: number }>(sql.removeCaption, 'caption', id);
    await this.owner.count(-bytes);
  }
}

export class TranscriptRepository extends OfOwner {
  /**
   * Stores a transcript. Throws `ValidationError` when the confidence is out of its range, and `NotFoundException` when
   * the media does not exist.
   */
  async save(record: NewTranscript): Promise<Stored<TranscriptRecord>> {
    const transcript: TranscriptRecord = { media_id: null, transcript_type: 'transcript', ...record };
    const { language_confidence: confidence } = transcript;
    if (!(confidence >= 0 && confidence <= 1))
      throw invalid(`language_confidence is a number from 0 to 1, not ${confidence}`);
    for (const what of ['model', 'transcript', 'language', 'transcript_type'] as const)
      checkText(what, transcript[what]);
    const { media_id: mediaId, model, transcript: text, segments, language, transcript_type: type } = transcript;
    if (isDeeper(segments, MAX_DEPTH)) throw invalid(`segments are nested more than ${MAX_DEPTH} deep`);
    const rows = await this.owner.require([mediaId]);
    const json = JSON.stringify(segments);
    const bytes = rowBytes(model, text, json, language, type);
    await this.owner.count(bytes);
    const values = [
      this.owner.id,
      rows.get(mediaId) ?? null,
      model,
      text,
      json,
      language,
      confidence,
      type,
      bytes,
      this.connection.now(),
    ];
    const [row] = await this.connection.query<{ id: number }>(sql.insertTranscript, values);
    return { id: row?.id ?? 0, ...transcript };
  }

  /** Throws `NotFoundException`. */
  async read(id: number): Promise<Stored<TranscriptRecord>> {
    return fromRow(await this.row<StoredTranscriptRow>(sql.readTranscript, 'transcript', id));
  }

  /** Returns the transcripts of one media, the oldest first. */
  async list(mediaId: string): Promise<Stored<TranscriptRecord>[]> {
    return (
      await this.connection.query<StoredTranscriptRow>(sql.listTranscripts, [this.owner.id, checkId(mediaId)])
    ).map(fromRow);
  }

  /** Returns the transcripts of one media without their texts. `after` is an id. */
  listInfos(mediaId: string, { after = 0, limit = ALL }: Page<number> = {}): Promise<Stored<TranscriptInfo>[]> {
    return this.connection.query<Stored<TranscriptInfo>>(sql.listTranscriptInfos, [
      this.owner.id,
      checkId(mediaId),
      after,
      limit,
    ]);
  }

  async delete(id: number): Promise<void> {
    const { bytes } = await this.row<{ bytes: number }>(sql.removeTranscript, 'transcript', id);
    await this.owner.count(-bytes);
  }
}

type StoredTranscriptRow = Omit<Stored<TranscriptRecord>, 'segments'> & { readonly segments: string };

function fromRow(row: StoredTranscriptRow): Stored<TranscriptRecord> {
  return { ...row, segments: JSON.parse(row.segments) as unknown[] };
}

function videoFromRow({
  id,
  ...video
}: VideoRecord & { readonly id: string }): VideoRecord & { readonly media_id: string } {
  return { media_id: id, ...video };
}

function checkedCaption(record: NewCaption): CaptionRecord {
  const caption: CaptionRecord = { media_id: null, caption_type: 'caption', ...record };
  const { frame_id: frameId, timestamp } = caption;
  if (!(Number.isInteger(frameId) && frameId >= 0 && frameId <= MAX_FRAME_ID))
    throw invalid(`frame_id is a whole number from 0 to ${MAX_FRAME_ID}, not ${frameId}`);
  if (!(timestamp >= 0 && Number.isFinite(timestamp)))
    throw invalid(`timestamp is a number of seconds from 0 on, not ${timestamp}`);
  for (const what of ['model', 'caption', 'caption_type'] as const) checkText(what, caption[what]);
  return caption;
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some((each) => isDeeper(each, depth - 1));
}

function invalid(message: string): AanaError {
  return fail('ValidationError', message);
}
