import { fail } from '../../../../base/core/errors.ts';
import type { Metadata } from '../../../../base/schemas/vectors/vector-filter.ts';
import { checkUnicode } from '../../errors.ts';
import { checkKey, checkValue, wrong } from './filter.ts';
import { wordsOf } from './words.ts';

export interface StoredChunk {
  /** Unique in its collection, 1 to 255 characters. */
  readonly id: string;
  /** The document of which the chunk is a part, 1 to 255 characters; null if it is none. */
  readonly document: string | null;
  /** At most 65,536 characters. */
  readonly text: string;
  readonly metadata: Metadata;
}

/** A chunk as its row has it. */
export interface ChunkRow {
  readonly name: string;
  readonly document: string | null;
  readonly text: string;
  /** JSON. */
  readonly metadata: string;
}

export function storedChunk({ name, document, text, metadata }: ChunkRow): StoredChunk {
  return { id: name, document, text, metadata: JSON.parse(metadata) as StoredChunk['metadata'] };
}

/** A text with its vector. */
export interface VectorChunk {
  readonly id: string;
  readonly document?: string | null | undefined;
  readonly text: string;
  readonly metadata?: Metadata | undefined;
  /** Finite numbers, not all of them 0. Only the direction counts. */
  readonly vector: readonly number[] | Float32Array;
}

/** A chunk as it is stored. */
export interface CheckedChunk {
  readonly name: string;
  readonly document: string | null;
  readonly text: string;
  /** JSON. */
  readonly metadata: string;
  readonly bytes: number;
  readonly vector: Float32Array;
  readonly words: readonly string[];
  /** The metadata as key, type, text and number. */
  readonly attributes: readonly (readonly [string, string, string | null, number | null])[];
}

const NAME_LENGTH = 255;
const TEXT_LENGTH = 65_536;
const MOST_METADATA = 16;

/** Throws `ValidationError`, which names the place. @param at where the chunk is */
export function checkChunk(chunk: VectorChunk, dimensions: number, at: string): CheckedChunk {
  if (typeof chunk !== 'object' || chunk === null) throw wrong(at, 'it must be an object');
  const { id, document = null, text, metadata = {}, vector } = chunk;
  checkName(id, `${at}.id`);
  if (document !== null) checkName(document, `${at}.document`);
  checkLength(text, `${at}.text`);
  checkUnicode(`${at}.text`, text);
  const { json, attributes } = checkMetadata(metadata, `${at}.metadata`);
  const unit = checkVector(vector, dimensions, `${at}.vector`);
  const bytes = [id, document ?? '', text, json].reduce((sum, part) => sum + Buffer.byteLength(part), unit.byteLength);
  return { name: id, document, text, metadata: json, bytes, vector: unit, words: wordsOf(text), attributes };
}

/** Metadata as they are stored. */
export interface CheckedMetadata extends Pick<CheckedChunk, 'attributes'> {
  readonly json: string;
}

/** Throws `ValidationError`, which names the place. @param at where the metadata are */
export function checkMetadata(metadata: unknown, at: string): CheckedMetadata {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    throw wrong(at, 'it must be an object');
  const entries = Object.entries(metadata);
  if (entries.length > MOST_METADATA) throw wrong(at, `it has ${entries.length} keys, and may have ${MOST_METADATA}`);
  const attributes = entries.map(([key, given]): CheckedChunk['attributes'][number] => {
    const name = checkKey(key, `${at}: the key ${JSON.stringify(key)}`);
    const value = checkValue(given, `${at}[${JSON.stringify(key)}]`);
    return typeof value === 'string' ? [name, 'string', value, null] : [name, typeof value, null, Number(value)];
  });
  return { json: JSON.stringify(Object.fromEntries(entries)), attributes }; // an object may have a JSON of its own
}

/** Throws `ValidationError` for a chunk's text or a question that is too long. @param at where it is */
export function checkLength(text: unknown, at: string): void {
  if (typeof text !== 'string' || text.length > TEXT_LENGTH)
    throw wrong(at, `it must be a text of at most ${TEXT_LENGTH} characters`);
}

/** Throws `ValidationError`. @param what is named, for the message */
export function checkName(name: unknown, what: string): void {
  if (typeof name !== 'string' || name === '' || name.length > NAME_LENGTH)
    throw fail('ValidationError', `${what} must be a text of 1 to ${NAME_LENGTH} characters`);
  checkUnicode(what, name);
}

/** Returns the vector with length 1. Throws `ValidationError`, which names the place. */
export function checkVector(vector: unknown, dimensions: number, at: string): Float32Array {
  if (!Array.isArray(vector) && !(vector instanceof Float32Array)) throw wrong(at, 'it must be a list of numbers');
  if (vector.length !== dimensions)
    throw wrong(at, `it has ${vector.length} numbers, and the collection has ${dimensions} dimensions`);
  let squares = 0;
  for (let n = 0; n < dimensions; n += 1) {
    const value: unknown = vector[n];
    if (typeof value !== 'number' || !Number.isFinite(value) || Math.abs(value) > MOST_VALUE)
      throw wrong(`${at}[${n}]`, `it is ${String(value)}, and must be a finite number of 32 bits`);
    squares += value * value;
  }
  const length = Math.sqrt(squares);
  if (length === 0) throw wrong(at, 'all of its numbers are 0, so it has no direction');
  const unit = new Float32Array(dimensions); // Float32Array.from with a function takes eight times as long
  for (let n = 0; n < dimensions; n += 1) unit[n] = vector[n] / length;
  return unit;
}

/** The largest number of 32 bits. */
const MOST_VALUE = 3.4028234663852886e38;
