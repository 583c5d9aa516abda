import type { Guard } from './guards.ts';

/** Headers that fit every answer. A page that needs another value sets it itself. */
const HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy': "frame-ancestors 'none'",
  'referrer-policy': 'same-origin', // with no-referrer, browsers also hide the origin of forms of this server
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * Sets headers so that browsers do not guess content types, show no answer in frames of other pages, and tell no other
 * server the address of a page. With `hstsMaxAgeS` browsers use only HTTPS for this time.
 */
export function securityHeaders(hstsMaxAgeS: number): Guard {
  const headers = { ...HEADERS, ...(hstsMaxAgeS > 0 && { 'strict-transport-security': `max-age=${hstsMaxAgeS}` }) };
  const all = Object.entries(headers);
  return (ctx, next) => {
    for (const [name, value] of all) ctx.res.setHeader(name, value);
    return next();
  };
}
