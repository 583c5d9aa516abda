import * as z from 'zod';
import { anyObject } from '../../../schemas/index.ts';
import { ApplyEvent, ChangePlan } from '../../../control/index.ts';
import { answers, type RouteDefinition } from '../../../openapi/route-definition.ts';

const Configuration = z
  .nonoptional(anyObject)
  .describe(
    'A whole configuration, as in `aana.config.json`. Relative paths start from the folder of the file of the host.',
  );

const PLAN_QUERY = z.object({
  plan_id: z.string().max(100).optional().describe('The id of the plan that was shown. Default: any plan.'),
});

/** The routes with which admins change the configuration of the running application. */
export const CHANGE_ROUTES = {
  plan: {
    id: 'plan_configuration',
    method: 'post',
    path: '/api/configuration/plan',
    summary: 'What applying a configuration would do',
    tag: 'admin',
    body: Configuration,
    answers: answers('The plan. Nothing is changed.', ChangePlan),
    fails: [422, 500],
  },
  apply: {
    id: 'apply_configuration',
    method: 'post',
    path: '/api/configuration/apply',
    summary:
      'Apply a configuration without losing a request, as server-sent events named `change`. After a failure everything is as before. It goes on when the client leaves',
    tag: 'admin',
    query: PLAN_QUERY,
    body: Configuration,
    answers: { 200: { description: 'What is done.', schema: ApplyEvent, type: 'text/event-stream' } },
    fails: [409, 422, 500, 503],
  },
  planRollback: {
    id: 'plan_rollback',
    method: 'get',
    path: '/api/configuration/rollback',
    summary: 'What going back to the configuration before the last one would do',
    tag: 'admin',
    answers: answers('The plan. Nothing is changed.', ChangePlan),
    fails: [409, 500],
  },
  rollback: {
    id: 'roll_back_configuration',
    method: 'post',
    path: '/api/configuration/rollback',
    summary:
      'Go back to the configuration before the last one that was applied since the start, as server-sent events named `change`',
    tag: 'admin',
    query: PLAN_QUERY,
    answers: { 200: { description: 'What is done.', schema: ApplyEvent, type: 'text/event-stream' } },
    fails: [409, 422, 500, 503],
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;
