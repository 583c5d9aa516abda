import type { HttpCalls } from '../../../../wit/generated/world/http.ts';
import type { CallsOf } from './scope/scope.ts';

/** Requests to granted hosts. */
export const httpCalls: CallsOf<keyof HttpCalls> = {
  'http.fetch': ({ http, granted, signal, context }, request) =>
    http.fetch(request, {
      refusalOf: (url) => granted.refusalOfUrl(url),
      signal,
      traceparent: context.traceparent,
    }),
};
