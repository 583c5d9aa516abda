import * as z from 'zod';
import { canonicalUuid, UUID } from '../../base/core/ids.ts';

/** The id of a task, a webhook or a delivery. */
export const Id: z.ZodString = z.string().meta({ format: 'uuid' });

export const Time: z.ZodString = z.string().meta({ format: 'date-time' });

/** A point in time, or null where nothing has happened yet. */
export const TimeOrNull: z.ZodNullable<z.ZodString> = Time.nullable();

/** Returns the schema of a text to search for: the path of an endpoint, or the name of an error. */
export function searchText(description: string) {
  const error = 'Input should be a text of 1 to 255 characters';
  return z
    .string()
    .min(1, error)
    .max(255, error)
    .refine((text) => !text.includes('\0'), error)
    .optional()
    .describe(description);
}

/** Returns the schema of a parameter that is one of several words. */
export function choice<const Words extends readonly string[]>(words: Words) {
  return z.enum(words, `Input should be one of ${words.join(', ')}`).optional();
}

/** The parameters of a list that is read page by page. The first page has number 1. */
export const PAGE = {
  page: z.int().min(1).max(1_000_000).default(1),
  per_page: z.int().min(1).max(1000).default(100),
};

/** An id in a path, in every spelling of a UUID. */
const PathId = z.string().regex(UUID).meta({ format: 'uuid' }).transform(canonicalUuid);

/** The parameters of paths by name. */
export const PATH_PARAMETERS = {
  task_id: PathId,
  webhook_id: PathId,
  delivery_id: PathId,
  key_id: z.string(),
  subscription_id: z.string(),
  model: z.string(),
  model_id: z.string(),
  response_id: z.string(),
  file_id: z.string(),
  deployment: z.string(),
  batch_id: z.string(),
  vector_store_id: z.string(),
  upload_id: z.string(),
  trace_id: z.string(),
} as const;

/** A value that nobody changes any more. */
export type Immutable<T> = T extends readonly (infer Item)[]
  ? readonly Immutable<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Immutable<T[Key]> }
    : T;

/** The type of a value that a schema of an answer describes. */
export type AnswerOf<S extends z.ZodType> = Immutable<z.input<S>>;
