import { type AanaError, fail } from '../../../base/core/errors.ts';
import type { Metadata, VectorFilter } from '../../../base/schemas/vectors/vector-filter.ts';
import type { Chunk, FoundChunk, Query, VectorsCalls } from '../../../../wit/generated/world/vectors.ts';
import type { ChunkRow, CollectionRow, FoundRow, NewChunkRow, VectorQuery } from '../ports.ts';
import { bytesOfBase64 } from './scope/base64.ts';
import { computingCost } from './scope/computing-cost.ts';
import type { CallsOf } from './scope/scope.ts';

/** Most chunks of an upsert. */
const maxChunks = 500;
/** Most characters of the texts of an upsert, and of the texts of a page. */
const maxChars = 1024 * 1024;
/** Most chunks that are read for a page. */
const maxRead = 100;
const numberBytes = Float32Array.BYTES_PER_ELEMENT;

/** Collections of texts with vectors, of the plugin and the user. Each call is one transaction. */
export const vectorsCalls: CallsOf<keyof VectorsCalls> = {
  async 'vectors.ensure'({ user, plugin }, name, model, dimensions) {
    await user.vectors.write(plugin, (vectors) => vectors.ensure(name, { model, dimensions }));
    return undefined;
  },
  'vectors.list-collections': ({ user, plugin }, after, limit) =>
    user.vectors.read(plugin, (vectors) => vectors.list({ after, limit })),
  'vectors.delete-collection': ({ user, plugin }, name) =>
    user.vectors.write(plugin, (vectors) => vectors.delete(name)),
  async 'vectors.upsert'({ user, plugin, charge }, name, model, chunks, base64) {
    const chars = requireFew(chunks);
    const rows = chunkRows(chunks, base64);
    charge(computingCost.words(chars) + computingCost.vectors(rows.length * (rows[0]?.vector.length ?? 0)));
    await user.vectors.write(plugin, (vectors) => vectors.upsert(name, model, rows));
    return undefined;
  },
  'vectors.delete-chunks': ({ user, plugin }, name, { tag, val }) =>
    user.vectors.write(plugin, (vectors) => vectors.remove(name, tag === 'ids' ? { ids: val } : { document: val })),
  async 'vectors.list-chunks'({ user, plugin }, name, document, after, limit) {
    const page = { document, after, limit: Math.min(limit, maxRead) };
    const rows = await user.vectors.read(plugin, (vectors) => vectors.chunks(name, page));
    let chars = 0;
    return rows.filter(({ text }, at) => (chars += text.length) <= maxChars || at === 0).map(witChunk);
  },
  async 'vectors.search'({ user, plugin, charge }, name, query) {
    const search = searchOf(query);
    charge(computingCost.words(query.text?.length ?? 0));
    const onFound = ({ chunks, dimensions }: CollectionRow): void => {
      if (search.vector) charge(computingCost.search(chunks * dimensions));
    };
    return (await user.vectors.read(plugin, (vectors) => vectors.search(name, { ...search, onFound }))).map(witFound);
  },
};

/** Returns the characters of the texts. */
function requireFew(chunks: readonly Chunk[]): number {
  const chars = chunks.reduce((sum, { text }) => sum + text.length, 0);
  if (chunks.length > maxChunks) throw tooLarge(`${chunks.length} chunks`, maxChunks);
  if (chars > maxChars) throw tooLarge(`${chars} characters`, maxChars);
  return chars;
}

const tooLarge = (given: string, limit: number): AanaError =>
  fail('ArgumentsTooLarge', `an upsert has ${given}, and may have at most ${limit}`, { data: { limit } });

function chunkRows(chunks: readonly Chunk[], base64: string): NewChunkRow[] {
  const numbers = numbersOf(base64, 'vectors');
  const dimensions = chunks.length === 0 ? 0 : numbers.length / chunks.length;
  if (!Number.isInteger(dimensions) || (chunks.length === 0 && numbers.length > 0))
    throw invalid('vectors', `${numbers.length} numbers are no vectors of one length for ${chunks.length} chunks`);
  return chunks.map(({ metadata, ...chunk }, n) => ({
    metadata: jsonOf(metadata, `chunks[${n}].metadata`) as Metadata,
    vector: numbers.subarray(n * dimensions, (n + 1) * dimensions),
    ...chunk,
  }));
}

function searchOf({ vector, filter, ...query }: Query): VectorQuery {
  return {
    vector: vector === undefined ? undefined : numbersOf(vector, 'vector'),
    filter: filter === undefined ? undefined : (jsonOf(filter, 'filter') as VectorFilter), // the database checks it
    ...query,
  };
}

/** Returns 32-bit floating-point numbers, little endian. */
function numbersOf(base64: string, what: string): Float32Array {
  const bytes = bytesOfBase64(base64, what);
  if (bytes.length % numberBytes > 0)
    throw invalid(what, `${bytes.length} bytes are no numbers of ${numberBytes} bytes`);
  return new Float32Array(new Uint8Array(bytes).buffer); // a copy, because a Buffer may begin at any address
}

function jsonOf(text: string, at: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid(at, 'it is no JSON');
  }
}

const invalid = (at: string, reason: string): AanaError => fail('ValidationError', `${at}: ${reason}`);

const witChunk = ({ id, document, text, metadata }: ChunkRow): Chunk => ({
  id,
  document: document ?? undefined,
  text,
  metadata: JSON.stringify(metadata),
});

const witFound = ({ score, ...row }: FoundRow): FoundChunk => ({ chunk: witChunk(row), score });
