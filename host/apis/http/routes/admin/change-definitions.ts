import * as z from 'zod';
import { anyObject } from '../../../../base/schemas/index.ts';
import { answers, type RouteDefinition } from '../../../openapi/route-definition.ts';

/** What applying a configuration would do. */
export const ChangePlan = z.object({
  id: z.string().describe('Changes with the plan. A plan that was shown is applied only while it is the same.'),
  changes: z.array(
    z.object({
      kind: z.enum(['add', 'change', 'remove']),
      deployment: z.string(),
      how: z
        .enum(['start', 'in-place', 'rolling', 'stop'])
        .describe('`rolling`: new replicas replace the old ones, which finish their calls first.'),
      keys: z.array(z.string()).describe('The options that change, such as `user_config.model_id`.'),
    }),
  ),
  settings: z.array(z.string()).describe('The settings that change at once, such as `user_limits.max_requests`.'),
  refused: z
    .array(z.object({ key: z.string(), reason: z.string() }))
    .describe('Differences that a running application cannot apply. With one of them, nothing is applied.'),
  unchanged: z.int().describe('Number of deployments that stay as they are.'),
});
export type ChangePlan = z.infer<typeof ChangePlan>;

/** One event while a configuration is applied. */
export const ApplyEvent = z.object({
  deployment: z.string().nullable().describe('Null in the last event.'),
  state: z
    .enum(['begins', 'progress', 'done', 'failed', 'undone', 'applied', 'rolled-back'])
    .describe('`undone`: a change before the failed one was taken back. The last event is `applied` or `rolled-back`.'),
  text: z.string().describe('What is done now, or the reason of a failure.'),
});
export type ApplyEvent = z.infer<typeof ApplyEvent>;

const Configuration = z
  .nonoptional(anyObject)
  .describe('A whole configuration, as in `aana.config.json`. Relative paths start from the folder of the file.');

const FILE = {
  file: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe('Path of the file that the configuration comes from. Default: the file of the host.'),
};

const PLAN_QUERY = z.object({
  plan_id: z.string().max(100).optional().describe('The id of the plan that was shown. Default: any plan.'),
});

/** The routes with which admins change the configuration of the running application. */
export const CHANGE_ROUTES = {
  plan: {
    id: 'plan_configuration',
    at: 'post /api/configuration/plan',
    summary: 'What applying a configuration would do',
    query: z.object(FILE),
    body: Configuration,
    answers: answers('The plan. Nothing is changed.', ChangePlan),
    fails: [422, 500],
  },
  apply: {
    id: 'apply_configuration',
    at: 'post /api/configuration/apply',
    summary:
      'Apply a configuration without losing a request, as server-sent events named `change`. After a failure ' +
      'everything is as before. It goes on when the client leaves',
    query: PLAN_QUERY.extend(FILE),
    body: Configuration,
    answers: { 200: { description: 'What is done.', schema: ApplyEvent, type: 'text/event-stream' } },
    fails: [409, 422, 500, 503],
  },
  planRollback: {
    id: 'plan_rollback',
    at: 'get /api/configuration/rollback',
    summary: 'What going back to the configuration before the last one would do',
    answers: answers('The plan. Nothing is changed.', ChangePlan),
    fails: [409, 500],
  },
  rollback: {
    id: 'roll_back_configuration',
    at: 'post /api/configuration/rollback',
    summary:
      'Go back to the configuration before the last one that was applied since the start, as server-sent events ' +
      'named `change`',
    query: PLAN_QUERY,
    answers: { 200: { description: 'What is done.', schema: ApplyEvent, type: 'text/event-stream' } },
    fails: [409, 422, 500, 503],
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;
