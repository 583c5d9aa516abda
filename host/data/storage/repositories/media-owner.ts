import { fail } from '../../../base/core/errors.ts';
import type { Connection } from '../database.ts';
import { checkText, notFound } from '../errors.ts';
import { loadStatements } from '../statements.ts';

/** The statements about media, captions and transcripts. */
export const sql = loadStatements('media', [
  'find',
  'insert',
  'size',
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
  'lockUsage',
  'setUsage',
]);

/** The owner without a user: of all callers when the host requires no keys, and of shared media. */
const NOBODY = '';
/** The bytes that a row counts besides its texts. */
const ROW_BYTES = 256;

/** The owner whose media a repository sees, and the bytes that this owner may keep. */
export class MediaOwner {
  readonly id: string;
  readonly #connection: Connection;
  readonly #maxBytes: number;

  /** `maxBytes` limits all rows of a user together. Media without an owner have no limit. */
  constructor(connection: Connection, userId: string | null, maxBytes: number = Number.MAX_SAFE_INTEGER) {
    this.#connection = connection;
    this.id = userId ?? NOBODY;
    this.#maxBytes = maxBytes;
  }

  get isNobody(): boolean {
    return this.id === NOBODY;
  }

  /** Returns the id of the row of a media by the id that the owner uses; undefined when there is none. */
  async find(mediaId: string): Promise<string | undefined> {
    return (await this.#connection.query<{ id: string }>(sql.find, [this.id, checkId(mediaId)]))[0]?.id;
  }

  /**
   * Returns the ids of the rows of several media by the ids that the owner uses. Throws `NotFoundException` when one is
   * missing.
   */
  async require(mediaIds: Iterable<string | null>): Promise<ReadonlyMap<string | null, string | null>> {
    const found = new Map<string | null, string | null>([[null, null]]);
    for (const mediaId of new Set(mediaIds)) {
      if (mediaId === null) continue;
      const id = await this.find(mediaId);
      if (id === undefined) throw notFound('media', mediaId);
      found.set(mediaId, id);
    }
    return found;
  }

  /**
   * Counts added bytes, or removed ones if negative. Throws `StorageFull` when the user would keep more than the limit.
   */
  async count(bytes: number): Promise<void> {
    if (this.isNobody || bytes === 0) return;
    const [usage] = await this.#connection.query<{ bytes: number }>(sql.lockUsage, [this.id]);
    const after = Math.max(0, (usage?.bytes ?? 0) + bytes);
    if (bytes > 0 && after > this.#maxBytes) {
      throw fail(
        'StorageFull',
        `a user may keep at most ${this.#maxBytes} bytes of videos, captions and transcripts; delete some media first`,
        { data: { limit: this.#maxBytes } },
      );
    }
    await this.#connection.query(sql.setUsage, [this.id, after]);
  }
}

/** Returns the bytes that a row with these texts counts. */
export function rowBytes(...texts: readonly (string | null)[]): number {
  return texts.reduce((sum, text) => sum + (text === null ? 0 : Buffer.byteLength(text)), ROW_BYTES);
}

export const checkId = (id: string): string => checkText('the id of a media', id);
