/**
 * The pattern of a host: `api.example.org`, or `*.example.org` (without `example.org` itself), with `:port` where it is
 * not the default port of the scheme.
 */
export const hostPattern = /^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/;

/** Whether the URL's host matches one of the patterns. `*` matches every host. */
export function isHostAmong(url: URL, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    if (pattern === '*') return true;
    const [, wildcard, name = '', port = ''] = /^(\*\.)?([^:]*)(?::(\d+))?$/.exec(pattern) ?? [];
    if (url.port !== port) return false;
    return wildcard === undefined ? url.hostname === name : url.hostname.endsWith(`.${name}`);
  });
}
