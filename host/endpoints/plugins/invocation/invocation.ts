import type { RequestContext } from '../../../base/core/request-context.ts';
import type { RequestUrls } from '../capabilities/scope/request-urls.ts';
import type { AnswerPort, UploadedFile } from '../ports.ts';

/** A request to run an endpoint. */
export interface PluginInvocation extends RequestContext {
  readonly endpoint: string;
  /** JSON object that matches the endpoint's input schema. */
  readonly input: string;
  readonly requestId: string;
  /** Milliseconds from now in which it must end, including the wait for its turn. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  readonly files: ReadonlyMap<string, UploadedFile>;
  /** The URLs of the request. Present for a helper, whose `input` does not come from a client. */
  readonly requestUrls?: RequestUrls | undefined;
  /** Sends one streamed value. Resolves when the client has room for more. Rejects when the client has gone. */
  readonly write?: ((chunk: string) => Promise<void>) | undefined;
  /** Takes an answer that is bytes. Undefined where the endpoint has none. */
  readonly answer?: AnswerPort | undefined;
  /** Called with the progress: a fraction from 0 to 1, and a text. */
  readonly onProgress?: ((fraction: number, text: string) => void) | undefined;
}

/** The result of an invocation. */
export type Result = { readonly json: string } | { readonly error: unknown };
