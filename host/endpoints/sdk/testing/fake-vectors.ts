import type { Metadata } from '../../../base/schemas/vectors/vector-filter.ts';
import type { Chunk, Query, Vectors } from '../../../../wit/generated/world/vectors.ts';
import { fromBase64 } from '../guest/base64.ts';
import { compareUtf8 } from '../guest/utf8.ts';
import { HostError, toErrorRecord } from '../host-error.ts';
import { checkedFilter, checkKey, checkValue, invalid, isStorable, isText, satisfies } from './fake-filter.ts';

/** A chunk of a collection. */
export interface FakeChunk {
  readonly id: string;
  readonly document: string | undefined;
  readonly text: string;
  readonly metadata: Metadata;
  /** Of length 1. */
  readonly vector: Float32Array;
}

/** A collection of texts with vectors. */
export interface FakeCollection {
  readonly model: string;
  readonly dimensions: number;
  /** By their ids. */
  readonly chunks: Map<string, FakeChunk>;
}

/** The collections of a plugin by name. Runs that are given the same map share it. */
export type FakeVectors = Map<string, FakeCollection>;

const MAX_COLLECTIONS = 100;
const MAX_CHUNKS = 500;
const MAX_CHARS = 1024 * 1024;
const MAX_IDS = 2000;
const MAX_TEXT = 65_536;
const MAX_METADATA = 16;
/** The constant with which the host adds up the rankings by vector and by words. */
const FUSION = 60;

/** Answers like the host, with its limits on each call, and words as they are between spaces and punctuation. */
export function fakeVectors(all: FakeVectors): Vectors {
  const found = (name: string): FakeCollection => {
    checkName(name, 'the name of the collection');
    const collection = all.get(name);
    if (!collection) throw refusal('NotFoundException', 'not-found', `there is no collection ${JSON.stringify(name)}`);
    return collection;
  };
  return {
    ensure(name, model, dimensions) {
      checkName(name, 'the name of the collection');
      checkName(model, 'the model');
      if (!isBetween(dimensions, 1, 8192)) throw invalid('dimensions', `there are 1 to 8192, not ${dimensions}`);
      const known = all.get(name);
      if (known && (known.model !== model || known.dimensions !== dimensions)) throw mismatch(name, known, model);
      if (!known && all.size >= MAX_COLLECTIONS)
        throw refusal('StorageFull', 'too-large', `there are at most ${MAX_COLLECTIONS} collections`);
      if (!known) all.set(name, { model, dimensions, chunks: new Map() });
    },
    listCollections: (after = '', limit) =>
      page([...all.keys()], after, limit).map((name) => {
        const { chunks, ...space } = all.get(name)!;
        const bytes = [...chunks.values()].reduce((sum, { text, vector }) => sum + text.length + vector.byteLength, 0);
        return { name, ...space, chunks: chunks.size, bytes };
      }),
    deleteCollection(name) {
      checkName(name, 'the name of the collection');
      return all.delete(name);
    },
    upsert(name, model, chunks, vectors) {
      const chars = chunks.reduce((sum, { text }) => sum + text.length, 0);
      if (chunks.length > MAX_CHUNKS || chars > MAX_CHARS)
        throw refusal('ArgumentsTooLarge', 'too-large', `${chunks.length} chunks of ${chars} characters are too many`);
      const numbers = numbersOf(vectors);
      const collection = found(name);
      if (collection.model !== model) throw mismatch(name, collection, model);
      const length = numbers.length / chunks.length;
      const checked = chunks.map((chunk, n) =>
        checkedChunk(chunk, numbers.slice(n * length, (n + 1) * length), collection.dimensions),
      );
      if (new Set(checked.map(({ id }) => id)).size < checked.length) throw invalid('chunks', 'two have the same id');
      for (const chunk of checked) collection.chunks.set(chunk.id, chunk);
    },
    deleteChunks(name, { tag, val }) {
      const { chunks } = found(name);
      if (tag === 'ids' && val.length > MAX_IDS)
        throw invalid('ids', `there are ${val.length}, and at most ${MAX_IDS} are taken at once`);
      for (const one of tag === 'ids' ? val : [val]) checkName(one, tag);
      const removed = [...chunks.values()].filter(({ id, document }) =>
        tag === 'ids' ? val.includes(id) : document === val,
      );
      return removed.filter(({ id }) => chunks.delete(id)).length;
    },
    listChunks(name, document, after = '', limit) {
      if (document !== undefined) checkName(document, 'document');
      const { chunks } = found(name);
      const fitting = [...chunks.values()].filter((chunk) => document === undefined || chunk.document === document);
      const ids = fitting.map(({ id }) => id);
      return page(ids, after, limit).map((id) => hostChunk(chunks.get(id)!));
    },
    search: (name, query) => search(name, found(name), query),
  };
}

function search(name: string, collection: FakeCollection, query: Query): ReturnType<Vectors['search']> {
  const { vector: base64, model, text, filter: json, limit } = query;
  if (base64 !== undefined && model !== collection.model) throw mismatch(name, collection, model ?? 'an unnamed model');
  const vector = base64 === undefined ? undefined : unitVector(numbersOf(base64), collection.dimensions);
  if (!isBetween(limit, 1, 100)) throw invalid('limit', 'it must be an integer from 1 to 100');
  if ((text ?? '').length > MAX_TEXT) throw invalid('text', `it has at most ${MAX_TEXT} characters`);
  const filter = json === undefined ? undefined : checkedFilter(JSON.parse(json));
  if (!vector && text === undefined) throw invalid('query', 'a search needs a vector, a text, or both');
  const chunks = [...collection.chunks.values()].filter((chunk) => !filter || satisfies(chunk.metadata, filter));
  const near = vector && ranked(chunks, (chunk) => product(chunk.vector, vector));
  if (near && text === undefined)
    return near.slice(0, limit).map(([chunk, score]) => ({ chunk: hostChunk(chunk), score }));
  const question = new Set(wordsOf(text ?? ''));
  const matching = ranked(chunks, (chunk) => [...question].filter((word) => wordsOf(chunk.text).includes(word)).length);
  const rankings = [...(near ? [near] : []), matching.filter(([, count]) => count > 0)];
  const scores = new Map<FakeChunk, number>();
  for (const ranking of rankings)
    for (const [place, [chunk]] of ranking.entries())
      scores.set(chunk, (scores.get(chunk) ?? 0) + (FUSION + 1) / (FUSION + 1 + place) / rankings.length);
  return [...scores]
    .sort(([, one], [, other]) => other - one)
    .slice(0, limit)
    .map(([chunk, score]) => ({ chunk: hostChunk(chunk), score }));
}

/** Returns the chunks with their scores, the best first. */
const ranked = (chunks: readonly FakeChunk[], score: (chunk: FakeChunk) => number): [FakeChunk, number][] =>
  chunks.map((chunk): [FakeChunk, number] => [chunk, score(chunk)]).sort(([, one], [, other]) => other - one);

const wordsOf = (text: string): readonly string[] =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];

const product = (one: Float32Array, other: Float32Array): number =>
  one.reduce((sum, value, n) => sum + value * other[n]!, 0);

function checkedChunk({ id, document, text, metadata: json }: Chunk, numbers: Float32Array, length: number): FakeChunk {
  checkName(id, 'id');
  if (document !== undefined) checkName(document, 'document');
  if (text.length > MAX_TEXT) throw invalid('text', `it has at most ${MAX_TEXT} characters`);
  if (!isStorable(text)) throw invalid('text', 'it has a character that databases cannot store');
  const metadata = JSON.parse(json) as Metadata;
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    throw invalid('metadata', 'it must be an object');
  const entries = Object.entries(metadata);
  if (entries.length > MAX_METADATA) throw invalid('metadata', `it may have ${MAX_METADATA} keys`);
  for (const [key, value] of entries) {
    checkKey(key);
    checkValue(value);
  }
  return { id, document, text, metadata, vector: unitVector(numbers, length) };
}

/** Returns the vector with length 1. */
function unitVector(numbers: Float32Array, length: number): Float32Array {
  const size = Math.sqrt(numbers.reduce((sum, value) => sum + value * value, 0));
  if (numbers.length !== length) throw invalid('vector', `it has ${numbers.length} numbers, not ${length}`);
  if (!numbers.every(Number.isFinite) || size === 0) throw invalid('vector', 'it has no direction');
  return numbers.map((value) => value / size);
}

function numbersOf(base64: string): Float32Array {
  return new Float32Array(fromBase64(base64).slice().buffer);
}

function page(names: readonly string[], after: string, limit: number): readonly string[] {
  if (!isBetween(limit, 1, 1000)) throw invalid('limit', 'it must be an integer from 1 to 1000');
  if (after !== '') checkName(after, 'after');
  return names
    .filter((name) => compareUtf8(name, after) > 0)
    .sort(compareUtf8)
    .slice(0, limit);
}

const hostChunk = ({ id, document, text, metadata }: FakeChunk): Chunk => ({
  id,
  document,
  text,
  metadata: JSON.stringify(metadata),
});

const isBetween = (number: number, least: number, most: number): boolean =>
  Number.isInteger(number) && number >= least && number <= most;

function checkName(name: string, what: string): void {
  if (!isText(name, 255)) throw invalid(what, 'it must be a text of 1 to 255 characters');
}

const mismatch = (name: string, { model, dimensions }: FakeCollection, other: string): unknown =>
  refusal(
    'VectorModelMismatch',
    'conflict',
    `the collection ${JSON.stringify(name)} has vectors of ${model} with ${dimensions} dimensions, not of ${other}`,
  );

const refusal = (...args: ConstructorParameters<typeof HostError>): unknown => toErrorRecord(new HostError(...args));
