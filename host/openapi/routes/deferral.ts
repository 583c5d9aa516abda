import * as z from 'zod';
import { MAX_EXECUTION_TIMEOUT_S } from '../../core/endpoint-description.ts';

/** The parameter with which a request asks to become a task. */
export const DeferQuery = z.object({
  defer: z
    .boolean('Input should be a valid boolean')
    .default(false)
    .describe('Store the request as a task and answer with the id of the task.'),
});

/** The parameters of the task that a request becomes. */
export const TaskQuery = z.object({
  priority: z
    .int()
    .min(-1000)
    .max(1000)
    .optional()
    .meta({ default: 0, description: 'Of the task. Tasks of the same user with a higher priority run first.' }),
  execution_timeout: z
    .number()
    .positive()
    .max(MAX_EXECUTION_TIMEOUT_S)
    .optional()
    .describe('Of the task: time for one attempt, in seconds.'),
});

export const IdempotencyKey = z
  .string()
  .max(255)
  .describe('Of the task. A repeated request with the same key gets the id of the same task.');
