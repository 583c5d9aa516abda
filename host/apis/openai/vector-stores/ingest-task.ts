import * as z from 'zod';

/** The input of the task of a run, which reads files into a vector store. */
export const IngestTask = z.strictObject({
  run_id: z.string(),
  /** The deployments that the key of the request allows; null for all. */
  deployments: z.array(z.string()).nullable(),
});
export type IngestTask = z.output<typeof IngestTask>;
