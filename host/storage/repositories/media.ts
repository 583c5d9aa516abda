import { AanaError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Connection } from '../database.ts';
import { checkText, notFound } from '../errors.ts';
import { loadStatements } from '../statements.ts';

const sql = loadStatements('media', [
  'exists',
  'insert',
  'remove',
  'insertVideo',
  'readVideo',
  'listVideos',
  'insertCaption',
  'readCaption',
  'listCaptions',
  'removeCaption',
  'insertTranscript',
  'readTranscript',
  'listTranscripts',
  'listTranscriptInfos',
  'removeTranscript',
]);

export interface VideoRecord {
  readonly path: string | null;
  readonly url: string | null;
  readonly title: string | null;
  readonly description: string | null;
}

export interface CaptionRecord {
  /** The media that it is of; its captions go with it. */
  readonly media_id: string | null;
  readonly model: string;
  /** From 0 on. */
  readonly frame_id: number;
  readonly caption: string;
  /** Seconds from the start of the media. */
  readonly timestamp: number;
  /** What an application calls this kind of captions. */
  readonly caption_type: string;
}

export interface TranscriptRecord {
  readonly media_id: string | null;
  readonly model: string;
  readonly transcript: string;
  /** As transcription gives them: JSON. */
  readonly segments: readonly unknown[];
  readonly language: string;
  /** From 0 to 1. */
  readonly language_confidence: number;
  readonly transcript_type: string;
}

/** A transcript without its texts. */
export type TranscriptInfo = Omit<TranscriptRecord, 'transcript' | 'segments'>;

/** A part of a list: the first `limit` entries after `after`, or all that there are. */
export interface Page<After> {
  readonly after?: After | undefined;
  readonly limit?: number | undefined;
}

const ALL = Number.MAX_SAFE_INTEGER;
/** Of the column's type. */
const MAX_FRAME_ID = 2 ** 31 - 1;
/** What the databases can keep differs above. */
const MAX_DEPTH = 100;

type Stored<T> = T & { readonly id: number };
type Optional<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>;
type NewCaption = Optional<CaptionRecord, 'media_id' | 'caption_type'>;
type NewTranscript = Optional<TranscriptRecord, 'media_id' | 'transcript_type'>;

/** Media of any kind by their id; what belongs to one goes with it. */
export class MediaRepository {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async exists(id: string): Promise<boolean> {
    return (await this.#connection.query(sql.exists, [checkId(id)])).length > 0;
  }

  /** Throws `MediaIdAlreadyExistsException`, also when two do this at once. */
  async create(id: string, mediaType: string): Promise<void> {
    const length = [...checkId(id)].length;
    if (length < 1 || length > 255) throw new AanaError('ValidationError', 'invalid-input', `the id of a media has 1 to 255 characters, not ${length}`);
    const rows = await this.#connection.query(sql.insert, [id, checkText('the media type', mediaType), this.#connection.now()]);
    if (rows.length === 0) throw new AanaError('MediaIdAlreadyExistsException', 'conflict', `there is a media ${JSON.stringify(id)} already`, { data: { table: 'media', id } });
  }

  /** Throws `NotFoundException`. */
  async delete(id: string): Promise<void> {
    if ((await this.#connection.query(sql.remove, [checkId(id)])).length === 0) throw notFound('media', id);
  }
}

/** Videos: media with a place and a title. */
export class VideoRepository {
  readonly #connection: Connection;
  readonly #media: MediaRepository;

  constructor(connection: Connection, media: MediaRepository) {
    this.#connection = connection;
    this.#media = media;
  }

  /** Makes an id when there is none. Throws `MediaIdAlreadyExistsException`. */
  async save({ media_id: id = newId(), ...video }: Partial<VideoRecord> & { readonly media_id?: string | undefined }): Promise<{ media_id: string }> {
    const { path = null, url = null, title = null, description = null } = video;
    for (const [what, text] of Object.entries({ path, url, title, description })) if (text !== null) checkText(what, text);
    await this.#media.create(id, 'video');
    await this.#connection.query(sql.insertVideo, [id, path, url, title, description]);
    return { media_id: id };
  }

  /** Throws `NotFoundException`. */
  async getMetadata(mediaId: string): Promise<VideoRecord & { readonly media_id: string }> {
    const [row] = await this.#connection.query<VideoRecord & { id: string }>(sql.readVideo, [checkId(mediaId)]);
    if (!row) throw notFound('video', mediaId);
    return videoFromRow(row);
  }

  /** In the order of their ids. */
  async list({ after = '', limit = ALL }: Page<string> = {}): Promise<(VideoRecord & { readonly media_id: string })[]> {
    return (await this.#connection.query<VideoRecord & { id: string }>(sql.listVideos, [checkId(after), limit])).map(videoFromRow);
  }
}

export class CaptionRepository {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Throws `ValidationError` when a number is out of its range, `NotFoundException` when there is no such media. */
  async save(record: NewCaption): Promise<Stored<CaptionRecord>> {
    const [stored] = await this.saveAll([record]);
    return stored!;
  }

  /** Keeps them in this order. Throws as {@link save} does. */
  async saveAll(records: readonly NewCaption[]): Promise<Stored<CaptionRecord>[]> {
    const captions = records.map(checkedCaption);
    await requireMedia(this.#connection, captions);
    const stored: Stored<CaptionRecord>[] = [];
    for (const each of captions) {
      const { media_id: mediaId, model, frame_id: frameId, caption, timestamp, caption_type: type } = each;
      const [row] = await this.#connection.query<{ id: number }>(sql.insertCaption, [mediaId, model, frameId, caption, timestamp, type, this.#connection.now()]);
      stored.push({ id: row?.id ?? 0, ...each });
    }
    return stored;
  }

  /** Throws `NotFoundException`. */
  async read(id: number): Promise<Stored<CaptionRecord>> {
    const [row] = isId(id) ? await this.#connection.query<Stored<CaptionRecord>>(sql.readCaption, [id]) : [];
    if (!row) throw notFound('caption', String(id));
    return row;
  }

  /** Of one media, in the order of their times. */
  list(mediaId: string, { after = { timestamp: -1, id: 0 }, limit = ALL }: Page<{ readonly timestamp: number; readonly id: number }> = {}): Promise<Stored<CaptionRecord>[]> {
    return this.#connection.query<Stored<CaptionRecord>>(sql.listCaptions, [checkId(mediaId), after.timestamp, after.id, limit]);
  }

  async delete(id: number): Promise<void> {
    if (!isId(id) || (await this.#connection.query(sql.removeCaption, [id])).length === 0) throw notFound('caption', String(id));
  }
}

export class TranscriptRepository {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Throws `ValidationError` when the confidence is out of its range, `NotFoundException` when there is no such media. */
  async save(record: NewTranscript): Promise<Stored<TranscriptRecord>> {
    const transcript: TranscriptRecord = { media_id: null, transcript_type: 'transcript', ...record };
    const { language_confidence: confidence } = transcript;
    if (!(confidence >= 0 && confidence <= 1)) throw invalid(`language_confidence is a number from 0 to 1, not ${confidence}`);
    for (const what of ['model', 'transcript', 'language', 'transcript_type'] as const) checkText(what, transcript[what]);
    const { media_id: mediaId, model, transcript: text, segments, language, transcript_type: type } = transcript;
    if (isDeeper(segments, MAX_DEPTH)) throw invalid(`segments are nested more than ${MAX_DEPTH} deep`);
    await requireMedia(this.#connection, [transcript]);
    const [row] = await this.#connection.query<{ id: number }>(sql.insertTranscript, [mediaId, model, text, JSON.stringify(segments), language, confidence, type, this.#connection.now()]);
    return { id: row?.id ?? 0, ...transcript };
  }

  /** Throws `NotFoundException`. */
  async read(id: number): Promise<Stored<TranscriptRecord>> {
    const [row] = isId(id) ? await this.#connection.query<StoredTranscriptRow>(sql.readTranscript, [id]) : [];
    if (!row) throw notFound('transcript', String(id));
    return fromRow(row);
  }

  /** Of one media, the oldest first. */
  async list(mediaId: string): Promise<Stored<TranscriptRecord>[]> {
    return (await this.#connection.query<StoredTranscriptRow>(sql.listTranscripts, [checkId(mediaId)])).map(fromRow);
  }

  /** The same without their texts. `after` is an id. */
  listInfos(mediaId: string, { after = 0, limit = ALL }: Page<number> = {}): Promise<Stored<TranscriptInfo>[]> {
    return this.#connection.query<Stored<TranscriptInfo>>(sql.listTranscriptInfos, [checkId(mediaId), after, limit]);
  }

  async delete(id: number): Promise<void> {
    if (!isId(id) || (await this.#connection.query(sql.removeTranscript, [id])).length === 0) throw notFound('transcript', String(id));
  }
}

type StoredTranscriptRow = Omit<Stored<TranscriptRecord>, 'segments'> & { readonly segments: string };

function fromRow(row: StoredTranscriptRow): Stored<TranscriptRecord> {
  return { ...row, segments: JSON.parse(row.segments) as unknown[] };
}

function videoFromRow({ id, ...video }: VideoRecord & { readonly id: string }): VideoRecord & { readonly media_id: string } {
  return { media_id: id, ...video };
}

function checkedCaption(record: NewCaption): CaptionRecord {
  const caption: CaptionRecord = { media_id: null, caption_type: 'caption', ...record };
  const { frame_id: frameId, timestamp } = caption;
  if (!(Number.isInteger(frameId) && frameId >= 0 && frameId <= MAX_FRAME_ID)) throw invalid(`frame_id is a whole number from 0 to ${MAX_FRAME_ID}, not ${frameId}`);
  if (!(timestamp >= 0 && Number.isFinite(timestamp))) throw invalid(`timestamp is a number of seconds from 0 on, not ${timestamp}`);
  for (const what of ['model', 'caption', 'caption_type'] as const) checkText(what, caption[what]);
  return caption;
}

/** Of records that name a media, there must be it. */
async function requireMedia(connection: Connection, records: readonly { readonly media_id: string | null }[]): Promise<void> {
  for (const id of new Set(records.map((record) => record.media_id))) {
    if (id !== null && (await connection.query(sql.exists, [checkId(id)])).length === 0) throw notFound('media', id);
  }
}

const checkId = (id: string): string => checkText('the id of a media', id);

/** Whether it can be the number of a row; a database may have no type for others. */
const isId = (id: number): boolean => Number.isSafeInteger(id) && id > 0;

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some((each) => isDeeper(each, depth - 1));
}

function invalid(message: string): AanaError {
  return new AanaError('ValidationError', 'invalid-input', message);
}
