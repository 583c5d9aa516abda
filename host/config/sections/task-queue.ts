import * as z from 'zod';

const seconds = (description: string): z.ZodNumber => z.number().positive().max(604_800).describe(description);

/** What one user may ask of the queue, where API keys are asked for. */
const ceilings = {
  maximum_waiting_tasks_per_user: z
    .int()
    .min(1)
    .max(10_000_000)
    .describe('With API keys: tasks of one user that wait; more are refused (status 429).'),
  maximum_stored_bytes_per_user: z
    .int()
    .min(0)
    .describe(
      'With API keys: uploads, inputs and results that tasks of one user keep, in bytes; more are refused (status 429), and a task whose result has no room fails. 0 is no limit.',
    ),
  maximum_watchers_per_user: z
    .int()
    .min(1)
    .max(1_000_000)
    .describe(
      'With API keys: streams of events of tasks that one user reads from a host at the same time; more are refused (status 429).',
    ),
  maximum_priority: z
    .int()
    .min(-1000)
    .max(1000)
    .describe('With API keys: highest `priority` that a request may ask for, unless its key is of an admin.'),
  maximum_execution_timeout: seconds(
    'With API keys: longest `execution_timeout` that a request may ask for, unless its key is of an admin, in seconds.',
  ),
};

/** Deferred requests, in the words of the original. */
export const TaskQueueConfig = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe('Whether requests can be deferred (`?defer=true`): they become tasks, kept in the database.'),
  num_workers: z.int().min(1).max(1000).default(4).describe('Tasks that run at the same time.'),
  execution_timeout: seconds(
    'Time for one attempt at a task, in seconds. An endpoint and a request can have another one.',
  ).default(600),
  heartbeat_timeout: z
    .number()
    .min(1)
    .max(86_400)
    .default(60)
    .describe('A host that is not heard of for so long has lost its tasks to others, in seconds.'),
  max_retries: z.int().min(1).max(100).default(3).describe('Attempts at a task, the first one included.'),
  maximum_active_tasks_per_user: z
    .int()
    .min(1)
    .default(25)
    .describe('Tasks of one user that run at the same time, on all hosts together.'),
  reserved_workers: z
    .int()
    .min(0)
    .max(999)
    .default(1)
    .describe(
      'With API keys: workers of a host that one user alone never takes, so that others need not wait for the end of long tasks. One worker is left to each user in any case.',
    ),
  maximum_waiting_tasks_per_user: ceilings.maximum_waiting_tasks_per_user.default(10_000),
  maximum_stored_bytes_per_user: ceilings.maximum_stored_bytes_per_user.default(20 * 2 ** 30),
  maximum_watchers_per_user: ceilings.maximum_watchers_per_user.default(100),
  maximum_priority: ceilings.maximum_priority.default(100),
  maximum_execution_timeout: ceilings.maximum_execution_timeout.default(7200),
  users: z
    .record(z.string().min(1).max(255), z.strictObject(ceilings).partial())
    .default({})
    .describe(
      'What holds for a user in place of the five settings above, by `user_id`: `{"ann": {"maximum_priority": 1000}}`.',
    ),
  retention: z
    .number()
    .min(0)
    .max(31_536_000)
    .default(604_800)
    .describe('How long ended tasks are kept, in seconds; 0 is for ever.'),
});
