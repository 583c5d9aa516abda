import * as z from 'zod';

const order = (item: string) =>
  z
    .enum(['asc', 'desc'], 'Input should be one of asc, desc')
    .optional()
    .describe(`Default: desc, the newest ${item} first.`);
const after = (item: string) =>
  z.string().max(256).optional().describe(`The id of the last ${item} of the page before.`);
const PURPOSE = 'Input should be a text of 1 to 255 characters';

/** The query of `GET /v1/responses/{response_id}`. */
export const ResponseQuery = z.object({
  stream: z
    .boolean()
    .optional()
    .describe('Sends the events of a response that was created with `background` and `stream`.'),
  starting_after: z
    .int()
    .min(0)
    .optional()
    .describe('With `stream`: the `sequence_number` of the event before the first one. Default: all events.'),
});

/** The query of `GET /v1/responses/{response_id}/input_items`. */
export const InputItemsQuery = z.object({
  after: after('item'),
  limit: z.int().min(1).max(100).default(20).describe('Items of a page: 1 to 100. Default: 20.'),
  order: order('item'),
});

/** The query of `GET /v1/files`. */
export const FilesQuery = z.object({
  after: after('file'),
  limit: z.int().min(1).max(10_000).default(10_000).describe('Files of a page: 1 to 10000. Default: 10000.'),
  order: order('file'),
  purpose: z
    .string()
    .min(1, PURPOSE)
    .max(255, PURPOSE)
    .refine((text) => !text.includes('\0'), PURPOSE)
    .optional()
    .describe('Only files with this purpose.'),
});

/** The query of `GET /v1/batches`. */
export const BatchesQuery = z.object({
  after: after('batch'),
  limit: z.int().min(1).max(100).default(20).describe('Batches of a page: 1 to 100. Default: 20.'),
});

/** The query of `GET /v1/realtime`. */
export const RealtimeQuery = z.strictObject({
  intent: z
    .enum(['transcription'], 'Input should be transcription: this server has no sessions of speech to speech')
    .optional()
    .describe('Every session is a transcription.'),
  model: z
    .string()
    .max(1000)
    .optional()
    .describe('A deployment of speech to text, an alias, or the id of a model. Default: that of `session.update`.'),
});
