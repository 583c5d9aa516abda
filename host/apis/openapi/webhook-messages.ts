import type { oas31 } from 'openapi3-ts';
import * as z from 'zod';
import { AlertReport } from '../../base/alerts/index.ts';
import { TASK_STATUSES } from '../../data/tasks/index.ts';
import { ALERT_EVENTS, TASK_EVENTS } from '../../data/webhooks/index.ts';
import { jsonSchemaOf } from './json-schema-of.ts';
import { Id } from './values.ts';

const TaskMessage = z.strictObject({
  event: z.enum(TASK_EVENTS),
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

const AlertMessage = z.strictObject({ event: z.enum(ALERT_EVENTS), payload: AlertReport });

const header = (name: string, description: string): oas31.ParameterObject => ({
  name,
  in: 'header',
  required: true,
  schema: { type: 'string' },
  description,
});

/** The messages that webhooks receive. */
export const WEBHOOK_MESSAGES: Readonly<Record<string, oas31.PathItemObject>> = {
  task: message('on_task', 'An event of a task', TaskMessage),
  alert: message('on_alert', 'An event of an alert, for webhooks of admins that name it', AlertMessage),
};

function message(operationId: string, summary: string, schema: z.ZodType): oas31.PathItemObject {
  return {
    post: {
      operationId,
      summary,
      tags: ['webhooks'],
      parameters: [
        header('webhook-id', 'The same for every attempt.'),
        header('webhook-timestamp', 'Seconds since 1970.'),
        header('webhook-signature', 'As in Standard Webhooks: v1, and HMAC-SHA256 over id, time and body in base64.'),
        header('x-signature', 'As in the original: HMAC-SHA256 over the body in hexadecimal.'),
      ],
      requestBody: { required: true, content: { 'application/json': { schema: jsonSchemaOf(schema) } } },
      responses: { '2XX': { description: 'The receiver has taken it. After any other status it is sent again.' } },
    },
  };
}
