import { MCP_ROUTE } from '../../../openapi/index.ts';
import { HttpError } from '../../response/error-body.ts';
import { type HostRouter, serveRoute } from '../serve-route.ts';
import type { McpService } from './mcp-service.ts';

/** Adds `POST /mcp`, or a route that says that it is off. */
export function mcpRoute(router: HostRouter, service: McpService | undefined): void {
  if (service) serveRoute(router, MCP_ROUTE, ({ ctx }) => service.serve(ctx));
  else
    router.all(MCP_ROUTE.path, () => {
      throw new HttpError('NotFound', 'endpoints are not tools here: set mcp.enabled to serve /mcp');
    });
}
