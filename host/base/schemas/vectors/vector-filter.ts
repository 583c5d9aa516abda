/** A value of a chunk's metadata. */
export type MetadataValue = string | number | boolean;

/** At most 16 values by keys of 1 to 64 characters. Texts have at most 512 characters. */
export type Metadata = Readonly<Record<string, MetadataValue>>;

/** A condition about one key of the metadata. Values of another type than the stored one are never equal to it. */
export type Comparison =
  | { readonly type: 'eq' | 'ne'; readonly key: string; readonly value: MetadataValue }
  | { readonly type: 'gt' | 'gte' | 'lt' | 'lte'; readonly key: string; readonly value: string | number }
  | { readonly type: 'in' | 'nin'; readonly key: string; readonly value: readonly MetadataValue[] };

/**
 * Which chunks a search may find, in the form of OpenAI's vector stores. Chunks without the key satisfy `ne` and `nin`
 * and no other comparison. Texts are ordered by their code points.
 */
export type VectorFilter =
  | Comparison
  | { readonly type: 'and' | 'or'; readonly filters: readonly VectorFilter[] }
  | { readonly type: 'not'; readonly filter: VectorFilter };
