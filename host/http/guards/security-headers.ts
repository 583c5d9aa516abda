import type { Guard } from './guards.ts';

/** Harmless to every answer; a page that needs another one sets it itself. */
const HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy': "frame-ancestors 'none'",
  'referrer-policy': 'same-origin', // with none, browsers also keep the origin of this server's own forms to themselves
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * Browsers take answers for what they say they are, in no frame of other pages, and tell no other server where they
 * came from; `hstsMaxAgeS` has them use HTTPS alone for so long.
 */
export function securityHeaders(hstsMaxAgeS: number): Guard {
  const headers = { ...HEADERS, ...(hstsMaxAgeS > 0 && { 'strict-transport-security': `max-age=${hstsMaxAgeS}` }) };
  const all = Object.entries(headers);
  return (ctx, next) => {
    for (const [name, value] of all) ctx.res.setHeader(name, value);
    return next();
  };
}
