import * as z from 'zod';
import { amount, toggle, whole } from '../../core/fields.ts';
import { settings } from '../registry.ts';

const seconds = (description: string): z.ZodNumber => z.number().positive().max(604_800).describe(description);

/** Limits of one user of the queue. They apply where requests need API keys. */
const ceilings = {
  maximum_waiting_tasks_per_user: z
    .int()
    .min(1)
    .max(10_000_000)
    .describe('With API keys: most waiting tasks of one user; more are refused (status 429).'),
  maximum_stored_bytes_per_user: z
    .int()
    .min(0)
    .describe(
      'With API keys: most bytes of uploads, inputs and results that one user’s tasks keep. More are refused ' +
        '(status 429), and a task fails if its result has no room. 0 is no limit.',
    ),
  maximum_watchers_per_user: z
    .int()
    .min(1)
    .max(1_000_000)
    .describe(
      'With API keys: most streams of task events that one user reads from a host at the same time; more are ' +
        'refused (status 429).',
    ),
  maximum_priority: z
    .int()
    .min(-1000)
    .max(1000)
    .describe('With API keys: highest `priority` that a request may ask for. Admins are not limited.'),
  maximum_execution_timeout: seconds(
    'With API keys: longest `execution_timeout` that a request may ask for, in seconds. Admins are not limited.',
  ),
};

/** Deferred requests. Keys have the names of the original SDK. */
export const TaskQueueConfig = z.strictObject({
  enabled: toggle(
    true,
    'Whether requests can be deferred with `?defer=true`. A deferred request becomes a task in the database.',
  ),
  num_workers: whole({ min: 1, max: 1000, default: 4 }, 'Most tasks that a host runs at the same time.'),
  execution_timeout: seconds(
    'Time limit of one attempt at a task, in seconds. An endpoint or a request can set another one.',
  ).default(600),
  heartbeat_timeout: amount(
    { min: 1, max: 86_400, default: 60 },
    'Time without a heartbeat after which other hosts take over the tasks of a host, in seconds.',
  ),
  unserved_timeout: seconds(
    'Time for which a task waits for something that is away or full, such as a deployment, in seconds. Then it ' +
      'fails with the error that names it. Such attempts do not count for `max_retries`.',
  ).default(86_400),
  max_retries: whole({ min: 1, max: 100, default: 3 }, 'Most attempts at a task, including the first.'),
  maximum_active_tasks_per_user: whole(
    { min: 1, default: 25 },
    'Most tasks of one user that run at the same time, on all hosts together.',
  ),
  reserved_workers: whole(
    { min: 0, max: 999, default: 1 },
    'With API keys: workers of a host that a single user cannot occupy, so that other users need not wait for the ' +
      'end of long tasks. Each user can always use at least one worker.',
  ),
  maximum_waiting_tasks_per_user: ceilings.maximum_waiting_tasks_per_user
    .default(1000)
    .register(settings, { isLive: true }),
  maximum_stored_bytes_per_user: ceilings.maximum_stored_bytes_per_user
    .default(20 * 2 ** 30)
    .register(settings, { isLive: true }),
  maximum_watchers_per_user: ceilings.maximum_watchers_per_user.default(100).register(settings, { isLive: true }),
  maximum_priority: ceilings.maximum_priority.default(100).register(settings, { isLive: true }),
  maximum_execution_timeout: ceilings.maximum_execution_timeout.default(7200).register(settings, { isLive: true }),
  users: z
    .record(z.string().min(1).max(255), z.strictObject(ceilings).partial())
    .default({})
    .describe(
      'Values that replace the five settings above for one user, by `user_id`: `{"ann": {"maximum_priority": 1000}}`.',
    )
    .register(settings, { isLive: true }),
  retention: amount(
    { min: 0, max: 31_536_000, default: 604_800 },
    'Time for which the host keeps ended tasks, in seconds; 0 keeps them without limit.',
  ),
});
