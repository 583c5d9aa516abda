import type { Connection } from '../../database.ts';
import { VectorRepository } from '../vectors/vector-repository.ts';

/** A vector store as its row. Times are milliseconds since 1970. */
export interface VectorStoreRow {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly metadata: string | null;
  /** The name of what makes its vectors. */
  readonly model: string;
  /** How often the model has changed. */
  readonly generation: number;
  /** The generation whose texts get new vectors; null when all of them have some. */
  readonly source_generation: number | null;
  /** When the model changed last. */
  readonly renewed_at: number | null;
  /** Days without use after which the store expires; null is never. */
  readonly expires_after_days: number | null;
  readonly created_at: number;
  readonly last_active_at: number;
  readonly expires_at: number | null;
}

/** Returns the name of the collection that has the texts of a store. */
export const collectionOf = (
  { id, generation }: Pick<VectorStoreRow, 'id' | 'generation'>,
  of: number = generation,
): string => `${id}/${of}`;

/** Returns the names of all collections that a store has, of which some may not exist yet. */
export const collectionsOf = (store: VectorStoreRow): string[] =>
  [store.generation, store.source_generation].flatMap((of) => (of === null ? [] : [collectionOf(store, of)]));

/**
 * Returns the collections of the vector stores of a user. They are apart from those of the application, because no id
 * of a user has control characters.
 */
export const storeTexts = (connection: Connection, owner: string, maxBytes?: number): VectorRepository =>
  new VectorRepository(connection, `openai\u001f${owner}`, { maxBytes, maxCollections: Number.MAX_SAFE_INTEGER });

/** Removes the chunks of a file from all collections of a store. */
export async function removeTexts(texts: VectorRepository, store: VectorStoreRow, fileId: string): Promise<void> {
  for (const name of collectionsOf(store)) if (await texts.find(name)) await texts.remove(name, { document: fileId });
}
