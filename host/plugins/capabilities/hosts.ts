/**
 * A host that requests may go to: `api.example.org`, `*.example.org` (not `example.org` itself), each with `:port`
 * where it is not the scheme's own.
 */
export const hostPattern = /^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/;

/** Whether the URL's host is among the patterns; `*` is every host. */
export function isHostAmong(url: URL, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    if (pattern === '*') return true;
    const [, wildcard, name = '', port = ''] = /^(\*\.)?([^:]*)(?::(\d+))?$/.exec(pattern) ?? [];
    if (url.port !== port) return false;
    return wildcard === undefined ? url.hostname === name : url.hostname.endsWith(`.${name}`);
  });
}
