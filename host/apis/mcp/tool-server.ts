import type * as sdk from '@modelcontextprotocol/server';
import type { CallToolResult, Server, ServerContext, Tool } from '@modelcontextprotocol/server';
import type { ServedEndpoint } from '../../endpoints/registry/index.ts';
import { toolOf } from './tools.ts';

/** The official SDK. It is imported only where the tools are served. */
export type McpSdk = typeof sdk;

/** One call of a tool. */
export interface ToolRun {
  /** The arguments, which nobody has checked. */
  readonly input: unknown;
  /**
   * Reports the progress if the client asks for it: the amount of work that is done, of `total` if that is known.
   * Amounts that do not grow are dropped. Returns whether a message was sent.
   */
  readonly report: (progress: { readonly done: number; readonly total?: number; readonly message?: string }) => boolean;
}

/** The endpoints of one caller. */
export interface Toolbox {
  /** Returns the endpoints that the caller may run, and whose deployments exist. */
  list(): readonly ServedEndpoint[];
  /** Returns an endpoint that is a tool, also one that the caller may not run or that cannot run now. */
  find(name: string): ServedEndpoint | undefined;
  /** Runs an endpoint. A failure is a result, too. Rejects only if the caller has left. */
  run(endpoint: ServedEndpoint, run: ToolRun): Promise<CallToolResult>;
}

export interface ToolServerOptions {
  /** Name and version of the application. */
  readonly title: string;
  readonly version: string;
  readonly toolbox: Toolbox;
  /** Whether the client can hear that the tools have changed. */
  readonly tellsChanges: boolean;
}

/**
 * Returns the server of the protocol for one request. It is the SDK's low-level class, because the other one would
 * check arguments a second time, with regular expressions that backtrack.
 */
export function toolServer(sdk: McpSdk, { title, version, toolbox, tellsChanges }: ToolServerOptions): Server {
  const server = new sdk.Server(
    { name: title, version },
    { capabilities: { tools: tellsChanges ? { listChanged: true } : {} } },
  );
  server.setRequestHandler('tools/list', () => ({ tools: toolbox.list().map(toolOf) }));
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const endpoint = toolbox.find(params.name);
    if (!endpoint) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
    const result = await toolbox.run(endpoint, { input: params.arguments ?? {}, report: reporter(ctx) });
    const { outputSchema }: Tool = toolOf(endpoint);
    return server.projectCallToolResult(result, outputSchema);
  });
  return server;
}

function reporter({ mcpReq }: ServerContext): ToolRun['report'] {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => false;
  let last = 0;
  return ({ done, total, message }) => {
    if (!(done > last)) return false;
    last = done;
    const params = {
      progressToken,
      progress: done,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    };
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {}); // the client has left
    return true;
  };
}
