import type { CallsOf } from './scope/scope.ts';

/** Requests to the hosts that are granted. */
export const httpCalls: CallsOf<'http.fetch'> = {
  'http.fetch': ({ ports, granted, signal }, request) =>
    ports.http.fetch(request, { refusalOf: (url) => granted.refusalOfUrl(url), signal }),
};
