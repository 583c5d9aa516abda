import type { oas31 } from 'openapi3-ts';
import { failures } from './failures.ts';
import { jsonAnswer } from './parts.ts';

const ready = (value: boolean): oas31.SchemaObject => ({
  type: 'object',
  properties: { ready: { const: value } },
  required: ['ready'],
});

const DEPLOYMENT_STATUS: oas31.SchemaObject = {
  type: 'object',
  properties: {
    status: { enum: ['NOT_STARTED', 'DEPLOYING', 'DEPLOY_FAILED', 'RUNNING', 'UNHEALTHY', 'DELETING'] },
    message: { type: 'string' },
  },
  required: ['status', 'message'],
};

const STATUS: oas31.SchemaObject = {
  type: 'object',
  properties: {
    status: { enum: ['RUNNING', 'DEPLOYING', 'UNHEALTHY'] },
    message: { type: 'string' },
    deployments: { type: 'object', additionalProperties: DEPLOYMENT_STATUS },
  },
  required: ['status', 'message', 'deployments'],
};

const ALIVE: oas31.SchemaObject = { type: 'object', properties: { alive: { const: true } }, required: ['alive'] };
const READINESS: oas31.ResponsesObject = {
  '200': jsonAnswer('Ready.', ready(true)),
  '503': jsonAnswer('Not yet, or not any more.', ready(false)),
};

/** The host's own routes that are always there. */
export const SYSTEM_PATHS: readonly [path: string, item: oas31.PathItemObject][] = [
  [
    '/api/ready',
    {
      get: {
        operationId: 'is_ready',
        summary: 'Whether requests can be served',
        tags: ['system'],
        responses: READINESS,
      },
    },
  ],
  [
    '/readyz',
    {
      get: {
        operationId: 'readyz',
        summary: 'As /api/ready, under the usual name of such a route',
        tags: ['system'],
        responses: READINESS,
      },
    },
  ],
  [
    '/livez',
    {
      get: {
        operationId: 'livez',
        summary: 'Whether the process answers',
        tags: ['system'],
        responses: { '200': jsonAnswer('It does.', ALIVE) },
      },
    },
  ],
  [
    '/api/status',
    {
      get: {
        operationId: 'get_status',
        summary: 'The state of the application and its deployments',
        tags: ['system'],
        responses: { '200': jsonAnswer('The state.', STATUS), ...failures(500) },
      },
    },
  ],
];
