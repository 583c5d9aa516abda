import * as z from 'zod';

/** Schemas that are components of the document under these names. Other schemas refer to them. */
export const NAMED_SCHEMAS: z.core.$ZodRegistry<{ id: string }> = z.registry<{ id: string }>();
