import * as z from 'zod';
import { MAX_NAME } from '../../schemas/index.ts';
import { answers, type RouteDefinition } from '../route-definition.ts';
import type { AnswerOf } from '../values.ts';

const AppStatus = z.object({
  status: z.enum(['RUNNING', 'DEPLOYING', 'UNHEALTHY']),
  message: z.string(),
  deployments: z.record(
    z.string(),
    z.object({
      status: z.enum(['NOT_STARTED', 'DEPLOYING', 'DEPLOY_FAILED', 'RUNNING', 'UNHEALTHY', 'DELETING', 'UNLOADED']),
      message: z.string(),
    }),
  ),
});
/** The state of an application and its deployments. */
export type AppStatus = AnswerOf<typeof AppStatus>;

const AWAY = z
  .array(z.string())
  .optional()
  .describe('Started deployments that do not serve at the moment. Absent when all serve.');
const READINESS = {
  200: { description: 'Ready.', schema: z.object({ ready: z.boolean(), away: AWAY }) },
  503: {
    description: 'Starting or stopping, or no deployment serves.',
    schema: z.object({ ready: z.boolean(), away: AWAY }),
  },
} as const;
const READINESS_QUERY = z.object({
  deployment: z
    .string()
    .max(MAX_NAME)
    .optional()
    .describe('Only this deployment. Default: any deployment that serves is enough.'),
});

const READY = {
  method: 'get',
  tag: 'system',
  query: READINESS_QUERY,
  answers: READINESS,
  fails: [404],
} as const;

/** The routes that every server has. */
export const SYSTEM_ROUTES = {
  root: {
    id: 'get_links',
    method: 'get',
    path: '/',
    summary: 'What is served here, and where its documentation is',
    tag: 'system',
    answers: answers(
      'The name of the application, the version of the server, and paths.',
      z.object({ name: z.string(), version: z.string(), links: z.record(z.string(), z.string()) }),
    ),
    fails: [],
  },
  version: {
    id: 'get_version',
    method: 'get',
    path: '/version',
    summary: 'The version of the server',
    tag: 'system',
    answers: answers('The version.', z.object({ version: z.string() })),
    fails: [],
  },
  isReady: { ...READY, id: 'is_ready', path: '/api/ready', summary: 'Whether requests can be served' },
  readyz: {
    ...READY,
    id: 'readyz',
    path: '/readyz',
    summary: 'The same as /api/ready, under the usual name of such a route',
  },
  health: {
    ...READY,
    id: 'health',
    path: '/health',
    summary: 'The same as /api/ready, under its name in vLLM, TGI and llama-server',
  },
  ping: { ...READY, id: 'ping', path: '/ping', summary: 'The same as /api/ready, under its name in SageMaker' },
  livez: {
    id: 'livez',
    method: 'get',
    path: '/livez',
    summary: 'Whether the process answers',
    tag: 'system',
    answers: answers('It answers.', z.object({ alive: z.literal(true) })),
    fails: [],
  },
  status: {
    id: 'get_status',
    method: 'get',
    path: '/api/status',
    summary: 'The state of the application and its deployments',
    tag: 'system',
    answers: answers('The state.', AppStatus),
    fails: [500],
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;
