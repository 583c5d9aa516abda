import * as z from 'zod';
import { type RouteDefinition, whereOf } from '../../../openapi/index.ts';
import { MAX_NAME } from '../../../../base/schemas/index.ts';
import { HttpError } from '../../response/error-body.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';
import type { McpService } from './mcp-service.ts';

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
const MCP_ROUTE = {
  id: 'send_mcp_message',
  at: 'post /mcp',
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

/** Adds `POST /mcp`, or a route that says that it is off. */
export function mcpRoute(router: HostRouter, service: McpService | undefined): void {
  if (service) serveRoute(router, MCP_ROUTE, ({ ctx }) => service.serve(ctx));
  else
    router.all(whereOf(MCP_ROUTE).path, () => {
      throw new HttpError('NotFound', 'endpoints are not tools here: set mcp.enabled to serve /mcp');
    });
}
