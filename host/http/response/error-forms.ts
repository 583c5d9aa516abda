import type { Context } from 'koa';
import { anthropicError } from '../../anthropic/index.ts';
import { mcpError } from '../../mcp/index.ts';
import { openAiError } from '../../openai/index.ts';
import { isAnthropicRequest } from '../routes/anthropic/anthropic-requests.ts';
import { isMcpPath } from '../routes/mcp/mcp-path.ts';
import { isOpenAiPath } from '../routes/openai/openai-paths.ts';
import { anthropicStatusOf, mcpStatusOf, openAiStatusOf } from './status.ts';

/** How an API of others answers errors. */
export interface ErrorForm {
  statusOf(thrown: unknown): number;
  /** Returns the body, as JSON. */
  bodyOf(thrown: unknown, requestId: string): unknown;
}

const OPENAI: ErrorForm = { statusOf: openAiStatusOf, bodyOf: openAiError };
const ANTHROPIC: ErrorForm = {
  statusOf: anthropicStatusOf,
  bodyOf: (thrown, requestId) => anthropicError(thrown, anthropicStatusOf(thrown), requestId),
};
const MCP: ErrorForm = { statusOf: mcpStatusOf, bodyOf: mcpError };

/** Returns the form of the errors of a request that belongs to the API of others; undefined for our own form. */
export function foreignErrorForm(ctx: Context): ErrorForm | undefined {
  if (isAnthropicRequest(ctx)) return ANTHROPIC;
  if (isMcpPath(ctx.path)) return MCP;
  return isOpenAiPath(ctx.path) ? OPENAI : undefined;
}
