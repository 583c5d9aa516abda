import type { Connection } from '../../database.ts';
import type { KeptCollection } from '../../kept-vectors.ts';
import { layoutOf, type TableRows } from './vector-table.ts';

/** Bytes that are read at once. */
const READ_BYTES = 4 * 2 ** 20;

/** A block of a table of sqlite-vec: room for some vectors. The bits in `validity` say which of them are there. */
interface Block {
  readonly id: number;
  readonly validity: Uint8Array;
  /** Integers of 64 bits. */
  readonly rowids: Uint8Array;
  readonly vectors: Uint8Array;
}

/**
 * Reads the vectors of a collection, and gives those of a block at a time to `take`. Returns the ids of their chunks;
 * undefined if the collection has another version by now. The blocks of sqlite-vec are read, because a row for each
 * vector takes many times as long. Rejects if they are not as sqlite-vec 0.1.9 writes them.
 */
export async function loadTable(
  connection: Connection,
  { id, version, dimensions, chunks: rows }: KeptCollection,
  take: (rows: TableRows) => void,
): Promise<Float64Array | undefined> {
  const { rowBytes } = layoutOf({ dimensions, rows });
  const vectorBytes = dimensions * Float32Array.BYTES_PER_ELEMENT;
  await connection.script('begin'); // all statements see the same version
  try {
    const [now] = await connection.query<{ version: number }>('select version from vector_collections where id = $1', [
      id,
    ]);
    if (now?.version !== version) return undefined;
    const ids = new Float64Array(rows);
    let row = 0;
    for await (const { validity, rowids, vectors } of blocksOf(connection, `vector_embeddings_${id}`)) {
      const begin = row;
      const places = new DataView(rowids.buffer, rowids.byteOffset, rowids.byteLength);
      const bytes = new Uint8Array((rowids.byteLength / 8) * rowBytes);
      for (let place = 0; place < rowids.byteLength / 8; place += 1) {
        if (((validity[place >> 3] ?? 0) & (1 << (place & 7))) === 0) continue;
        if (row === rows || (place + 1) * vectorBytes > vectors.byteLength)
          throw new Error(`table ${id}: strange block`);
        ids[row] = Number(places.getBigInt64(place * 8, true));
        bytes.set(vectors.subarray(place * vectorBytes, (place + 1) * vectorBytes), (row - begin) * rowBytes);
        row += 1;
      }
      take({ begin, bytes: bytes.subarray(0, (row - begin) * rowBytes) });
    }
    if (row !== rows) throw new Error(`table ${id}: ${row} of ${rows} vectors`);
    return ids;
  } finally {
    await connection.script('rollback').catch(() => {}); // a statement may have ended it
  }
}

async function* blocksOf(connection: Connection, table: string): AsyncGenerator<Block, void> {
  let count = 1; // the first block tells its bytes
  for (let after = -1; ;) {
    const blocks: Block[] = await connection.query<Block & Record<string, unknown>>(
      `select chunk_id as id, validity, rowids, vectors
       from ${table}_chunks join ${table}_vector_chunks00 as own on own.rowid = chunk_id
       where chunk_id > $1 order by chunk_id limit $2`,
      [after, count],
    );
    yield* blocks;
    const last = blocks.at(-1);
    if (!last) return;
    after = last.id;
    count = Math.max(1, Math.floor(READ_BYTES / last.vectors.byteLength));
  }
}
