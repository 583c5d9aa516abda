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
  'insertCaption',
  'readCaption',
  'listCaptions',
  'removeCaption',
  'insertTranscript',
  'readTranscript',
  'listTranscripts',
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

type Stored<T> = T & { readonly id: number };
type Optional<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>;

/** Media of any kind by their id; what belongs to one goes with it. */
export class MediaRepository {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async exists(id: string): Promise<boolean> {
    return (await this.#connection.query(sql.exists, [id])).length > 0;
  }

  /** Throws `MediaIdAlreadyExistsException`, also when two do this at once. */
  async create(id: string, mediaType: string): Promise<void> {
    const length = [...checkText('the id of a media', id)].length;
    if (length < 1 || length > 255) throw new AanaError('ValidationError', 'invalid-input', `the id of a media has 1 to 255 characters, not ${length}`);
    const rows = await this.#connection.query(sql.insert, [id, checkText('the media type', mediaType), this.#connection.now()]);
    if (rows.length === 0) throw new AanaError('MediaIdAlreadyExistsException', 'conflict', `there is a media ${JSON.stringify(id)} already`, { data: { table: 'media', id } });
  }

  /** Throws `NotFoundException`. */
  async delete(id: string): Promise<void> {
    if ((await this.#connection.query(sql.remove, [id])).length === 0) throw notFound('media', id);
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
    const [row] = await this.#connection.query<VideoRecord & { id: string }>(sql.readVideo, [mediaId]);
    if (!row) throw notFound('video', mediaId);
    const { id, ...video } = row;
    return { media_id: id, ...video };
  }
}

export class CaptionRepository {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Throws `ValidationError` when a number is out of its range. */
  async save(record: Optional<CaptionRecord, 'media_id' | 'caption_type'>): Promise<Stored<CaptionRecord>> {
    const caption: CaptionRecord = { media_id: null, caption_type: 'caption', ...record };
    if (!Number.isInteger(caption.frame_id) || caption.frame_id < 0) throw invalid(`frame_id is a whole number from 0 on, not ${caption.frame_id}`);
    if (!(caption.timestamp >= 0 && Number.isFinite(caption.timestamp))) throw invalid(`timestamp is a number of seconds from 0 on, not ${caption.timestamp}`);
    const values = [caption.media_id, checkText('model', caption.model), caption.frame_id, checkText('caption', caption.caption), caption.timestamp, checkText('caption_type', caption.caption_type)];
    const [row] = await this.#connection.query<{ id: number }>(sql.insertCaption, [...values, this.#connection.now()]);
    return { id: row?.id ?? 0, ...caption };
  }

  /** Throws `NotFoundException`. */
  async read(id: number): Promise<Stored<CaptionRecord>> {
    const [row] = await this.#connection.query<Stored<CaptionRecord>>(sql.readCaption, [id]);
    if (!row) throw notFound('caption', String(id));
    return row;
  }

  /** Of one media, in the order of their times. */
  list(mediaId: string): Promise<Stored<CaptionRecord>[]> {
    return this.#connection.query<Stored<CaptionRecord>>(sql.listCaptions, [mediaId]);
  }

  async delete(id: number): Promise<void> {
    if ((await this.#connection.query(sql.removeCaption, [id])).length === 0) throw notFound('caption', String(id));
  }
}

export class TranscriptRepository {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Throws `ValidationError` when the confidence is out of its range. */
  async save(record: Optional<TranscriptRecord, 'media_id' | 'transcript_type'>): Promise<Stored<TranscriptRecord>> {
    const transcript: TranscriptRecord = { media_id: null, transcript_type: 'transcript', ...record };
    const { language_confidence: confidence } = transcript;
    if (!(confidence >= 0 && confidence <= 1)) throw invalid(`language_confidence is a number from 0 to 1, not ${confidence}`);
    for (const what of ['model', 'transcript', 'language', 'transcript_type'] as const) checkText(what, transcript[what]);
    const { media_id: mediaId, model, transcript: text, segments, language, transcript_type: type } = transcript;
    const [row] = await this.#connection.query<{ id: number }>(sql.insertTranscript, [mediaId, model, text, JSON.stringify(segments), language, confidence, type, this.#connection.now()]);
    return { id: row?.id ?? 0, ...transcript };
  }

  /** Throws `NotFoundException`. */
  async read(id: number): Promise<Stored<TranscriptRecord>> {
    const [row] = await this.#connection.query<StoredTranscriptRow>(sql.readTranscript, [id]);
    if (!row) throw notFound('transcript', String(id));
    return fromRow(row);
  }

  /** Of one media, the oldest first. */
  async list(mediaId: string): Promise<Stored<TranscriptRecord>[]> {
    return (await this.#connection.query<StoredTranscriptRow>(sql.listTranscripts, [mediaId])).map(fromRow);
  }

  async delete(id: number): Promise<void> {
    if ((await this.#connection.query(sql.removeTranscript, [id])).length === 0) throw notFound('transcript', String(id));
  }
}

type StoredTranscriptRow = Omit<Stored<TranscriptRecord>, 'segments'> & { readonly segments: string };

function fromRow(row: StoredTranscriptRow): Stored<TranscriptRecord> {
  return { ...row, segments: JSON.parse(row.segments) as unknown[] };
}

function invalid(message: string): AanaError {
  return new AanaError('ValidationError', 'invalid-input', message);
}
