import { publicMessage, toErrorRecord } from '../../base/core/errors.ts';

/** The body of a request that was refused before it became a call of a tool, as in JSON-RPC. */
export interface McpErrorBody {
  readonly jsonrpc: '2.0';
  readonly id: null;
  readonly error: {
    readonly code: number;
    readonly message: string;
    readonly data: {
      /** Class of the error. */
      readonly error: string;
      /** Facts about the error. */
      readonly data: unknown;
    };
  };
}

/** Codes of JSON-RPC: for a body that is not JSON, and for every other refusal. */
const PARSE_ERROR = -32_700;
const REFUSED = -32_000;

/** Returns the body for anything that was thrown. It has no more details than `publicMessage` allows. */
export function mcpError(thrown: unknown): McpErrorBody {
  const record = toErrorRecord(thrown);
  const { name: error, kind, data } = record;
  const [entry] = Array.isArray(data) ? (data as readonly { readonly msg?: unknown }[]) : [];
  const message = typeof entry?.msg === 'string' ? entry.msg : publicMessage(record);
  return {
    jsonrpc: '2.0',
    id: null,
    error: { code: kind === 'invalid-input' ? PARSE_ERROR : REFUSED, message, data: { error, data } },
  };
}
