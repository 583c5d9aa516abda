import type { RequestContext } from '../../core/request-context.ts';
import type { RequestUrls } from '../capabilities/scope/request-urls.ts';
import type { UploadedFile } from '../ports.ts';

/** One run of an endpoint. */
export interface PluginInvocation extends RequestContext {
  readonly endpoint: string;
  /** JSON object that matches the endpoint's input schema. */
  readonly input: string;
  readonly requestId: string;
  /** Milliseconds it may take from now, waiting for its turn included. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  readonly files: ReadonlyMap<string, UploadedFile>;
  /** The URLs of the request that it helps to answer, where `input` is not a client's. */
  readonly requestUrls?: RequestUrls | undefined;
  /** Takes one streamed value; resolves when the client has room for more, rejects when it has gone. */
  write?(chunk: string): Promise<void>;
  /** Told how far it has come: a fraction from 0 to 1, and what is being done. */
  onProgress?(fraction: number, text: string): void;
}

/** What an invocation ends with. */
export type Result = { readonly json: string } | { readonly error: unknown };
