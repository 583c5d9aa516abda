import * as z from 'zod';
import { toggle } from '../../../core/fields.ts';
import { MIB, positiveBytes } from '../fields.ts';
import { settings } from '../../registry.ts';

/** Endpoints as tools of the Model Context Protocol. */
export const McpConfig = z.strictObject({
  enabled: toggle(false, 'Whether `/mcp` is served. See [mcp.md](mcp.md).').register(settings, { env: 'AANA_MCP' }),
  endpoints: z.array(z.string().min(1)).default(['*']).describe('Names of the endpoints that are tools; `*` is all.'),
  max_result_bytes: positiveBytes(
    4 * MIB,
    'Largest result of a tool, in bytes. For an endpoint that streams, this is the limit of all its values together.',
  ),
});
