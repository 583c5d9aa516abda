import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Context } from 'koa';
import { errorLogFields, loggedStack } from '../../../../base/core/errors.ts';
import { traceFields } from '../../../../base/core/request-context.ts';
import { noTelemetry } from '../../../../base/core/telemetry.ts';
import { invoke, type ServedEndpoint } from '../../../../endpoints/registry/index.ts';
import {
  failedResult,
  resultOf,
  resultTooLarge,
  StreamedValues,
  type Toolbox,
  type ToolRun,
} from '../../../mcp/index.ts';
import { callerOf, showsInside } from '../../guards/caller.ts';
import { runCounter } from '../../guards/rate-limit-guard.ts';
import { refusalToRun } from '../../guards/run-rights.ts';
import type { HttpAppOptions } from '../../options.ts';
import { traceparentOf } from '../../request/request-context.ts';
import { workContextOf } from '../../request/work-context.ts';
import { errorJson } from '../../response/error-body.ts';
import { statusOfThrown } from '../../response/status.ts';
import type { McpOptions } from './mcp-options.ts';
import type { SendWindow } from './send-window.ts';

/** What `/mcp` needs of the HTTP side. */
export type McpHttpOptions = HttpAppOptions & { readonly mcp: McpOptions };

/** Most characters of a streamed value in a report of progress. */
const SHOWN_CHARACTERS = 500;

/** Makes the toolbox of a request. The run of a tool ends with the signal, and waits for room in the window. */
export type MakeToolbox = (ctx: Context, signal: AbortSignal, window: SendWindow) => Toolbox;

/** Returns the function that makes toolboxes, for all requests. */
export function callerTools(options: McpHttpOptions): MakeToolbox {
  const { registry, rateLimits, telemetry = noTelemetry, mcp } = options;
  const countRun = runCounter(rateLimits, telemetry);
  const isAll = mcp.endpoints.includes('*');
  // An endpoint that always becomes a task answers with the id of the task, which no tool can follow.
  const isTool = ({ name, deferOption }: ServedEndpoint): boolean =>
    deferOption !== 'always' && (isAll || mcp.endpoints.includes(name));
  const canRun = ({ deployments = [] }: ServedEndpoint): boolean =>
    deployments.every((name) => mcp.deployments.has(name));
  return (ctx, signal, window) => ({
    list: () =>
      registry
        .list()
        .filter((one) => isTool(one) && canRun(one) && refusalToRun(callerOf(ctx), one.path, one) === undefined),
    find: (name) => {
      const found = registry.get(name);
      return found && isTool(found) ? found : undefined;
    },
    run: async (endpoint, run) => {
      try {
        const refusal = refusalToRun(callerOf(ctx), endpoint.path, endpoint);
        if (refusal) throw refusal;
        countRun(ctx, endpoint.path);
        await endpoint.admit?.({ defer: false });
        const current = registry.get(endpoint.name) ?? endpoint; // a newer version may have replaced it meanwhile
        return await runEndpoint(ctx, current, run, { signal, window, options });
      } catch (error) {
        signal.throwIfAborted();
        logFailure(ctx, endpoint, error, options);
        return failedResult(errorJson(error, showsInside(ctx, options.includeStacktrace), options.compatStatus));
      }
    },
  });
}

async function runEndpoint(
  ctx: Context,
  endpoint: ServedEndpoint,
  { input, report }: ToolRun,
  {
    signal,
    window,
    options: { limits, mcp },
  }: { readonly signal: AbortSignal; readonly window: SendWindow; readonly options: McpHttpOptions },
): Promise<CallToolResult> {
  const overflow = new AbortController();
  const values = new StreamedValues({
    name: endpoint.name,
    maxBytes: mcp.max_result_bytes,
    onValue: async (count, json) => {
      if (report({ done: count, message: json.slice(0, SHOWN_CHARACTERS) })) await window.add();
    },
    onTooLarge: (error) => overflow.abort(error),
  });
  const output = await invoke(endpoint, input, {
    ...workContextOf(ctx),
    timeoutMs: limits.invocation_timeout_s * 1000,
    signal: AbortSignal.any([signal, overflow.signal]),
    ...(endpoint.streaming
      ? { write: values.write }
      : { onProgress: (fraction) => void report({ done: Math.round(fraction * 1000) / 1000, total: 1 }) }),
  }).catch((error: unknown) => {
    throw overflow.signal.aborted ? overflow.signal.reason : error;
  });
  const json = endpoint.streaming ? values.json : output;
  if (Buffer.byteLength(json) > mcp.max_result_bytes) throw resultTooLarge(endpoint.name, mcp.max_result_bytes);
  return resultOf(endpoint, json);
}

function logFailure(ctx: Context, { path }: ServedEndpoint, error: unknown, { log }: McpHttpOptions): void {
  const trace = traceFields(traceparentOf(ctx));
  const fields = { requestId: ctx.state['requestId'], path, ...trace, ...errorLogFields(error) };
  const status = statusOfThrown(error);
  if (status === 503) log.warn('tool not run', fields);
  else if (status >= 500) log.error('tool failed', { ...fields, stack: loggedStack(error) });
  else log.debug('tool refused', fields);
}
