import * as z from 'zod';
import { toggle } from '../../base/core/fields.ts';
import { MAX_EXECUTION_TIMEOUT_S } from '../../base/core/endpoint-description.ts';
import { TASK_STATUSES } from '../../data/tasks/index.ts';
import { NAMED_SCHEMAS } from './named-schemas.ts';
import { type AnswerOf, Id, Time, TimeOrNull } from './values.ts';

/** The parameter with which a request asks to become a task. */
export const DeferQuery = z.object({
  defer: toggle(false, 'Store the request as a task and answer with the id of the task.'),
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

/** The answer to a request that became a task. */
export const TaskId = z.strictObject({ task_id: Id }).register(NAMED_SCHEMAS, { id: 'TaskId' });
export type TaskId = AnswerOf<typeof TaskId>;

/** A task. */
export const Task = z
  .object({
    id: Id,
    endpoint: z.string().describe('Path of the endpoint.'),
    data: z.unknown().describe('The input.'),
    status: z.enum(TASK_STATUSES),
    result: z
      .unknown()
      .describe('The output, a list of outputs for a streaming endpoint, or the error of a failed task.'),
    progress: z.number().min(0).max(100).describe('Per cent.'),
    num_retries: z.int().describe('Attempts so far.'),
    priority: z.int(),
    created_at: Time,
    assigned_at: TimeOrNull,
    completed_at: TimeOrNull,
    omitted: z
      .array(z.enum(['data', 'result']))
      .optional()
      .describe('In a list: values that are too large for the list, and null there. Get the task to read them.'),
  })
  .register(NAMED_SCHEMAS, { id: 'Task' });
export type Task = AnswerOf<typeof Task>;
