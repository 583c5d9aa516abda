import type { RequestContext } from '../core/request-context.ts';

/** Facts of a request for the calls of deployments. Its signal ends the calls. */
export type RunContext = RequestContext & { readonly signal: AbortSignal };
