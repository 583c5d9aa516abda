import type { oas31 } from 'openapi3-ts';
import * as z from 'zod';
import { TASK_STATUSES } from '../tasks/index.ts';
import { WEBHOOK_EVENTS } from '../webhooks/index.ts';
import { jsonSchemaOf } from './json-schema-of.ts';
import { Id } from './routes/values.ts';

const Message = z.strictObject({
  event: z.enum(WEBHOOK_EVENTS),
  payload: z.object({
    task_id: Id,
    task_type: z.string().describe('Path of the endpoint.'),
    status: z.enum(TASK_STATUSES),
    result: z.unknown().describe('The output, a list of outputs for a streaming endpoint, or the error.'),
    num_retries: z.int().describe('Attempts so far.'),
    result_omitted: z
      .literal(true)
      .optional()
      .describe('The result is too large for a message. Get the task to read it.'),
  }),
});

const header = (name: string, description: string): oas31.ParameterObject => ({
  name,
  in: 'header',
  required: true,
  schema: { type: 'string' },
  description,
});

/** The messages that webhooks receive. */
export const WEBHOOK_MESSAGES: Readonly<Record<string, oas31.PathItemObject>> = {
  task: {
    post: {
      operationId: 'on_task',
      summary: 'An event of a task',
      tags: ['webhooks'],
      parameters: [
        header('webhook-id', 'The same for every attempt.'),
        header('webhook-timestamp', 'Seconds since 1970.'),
        header('webhook-signature', 'As in Standard Webhooks: v1, and HMAC-SHA256 over id, time and body in base64.'),
        header('x-signature', 'As in the original: HMAC-SHA256 over the body in hexadecimal.'),
      ],
      requestBody: { required: true, content: { 'application/json': { schema: jsonSchemaOf(Message) } } },
      responses: { '2XX': { description: 'The receiver has taken it. After any other status it is sent again.' } },
    },
  },
};
