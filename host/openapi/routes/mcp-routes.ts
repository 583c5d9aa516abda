import * as z from 'zod';
import { MAX_NAME } from '../../schemas/index.ts';
import type { RouteDefinition } from '../route-definition.ts';

const Message = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: z
      .union([z.string().max(MAX_NAME), z.int()])
      .optional()
      .describe('Absent in a notification.'),
  })
  .describe('A message of JSON-RPC, as the Model Context Protocol defines it.');

/** The route of the Model Context Protocol, whose tools are the endpoints. */
export const MCP_ROUTE = {
  id: 'send_mcp_message',
  method: 'post',
  path: '/mcp',
  summary: 'The endpoints as tools of the Model Context Protocol',
  tag: 'mcp',
  body: Message,
  answers: {
    200: {
      description: 'A stream that ends with the answer to the request.',
      schema: Message,
      type: 'text/event-stream',
    },
  },
  fails: [401, 403, 404, 429, 500, 503],
} as const satisfies RouteDefinition;
