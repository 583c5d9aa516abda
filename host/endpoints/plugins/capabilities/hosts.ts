/**
 * The pattern of a host: `api.example.org`, or `*.example.org` (without `example.org` itself), with `:port` where it is
 * not the default port of the scheme.
 */
export const hostPattern = /^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/;

/** Whether the URL's host matches one of the patterns. `*` matches every host. */
export function isHostAmong({ hostname, port, protocol }: URL, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    if (pattern === '*') return true;
    const [, wildcard, name = '', wanted = ''] = /^(\*\.)?([^:]*)(?::(\d+))?$/.exec(pattern) ?? [];
    if (wanted !== port && wanted !== (port || (protocol === 'https:' ? '443' : '80'))) return false;
    return wildcard === undefined ? hostname === name : hostname.endsWith(`.${name}`);
  });
}

/** A pattern that can name a host with a private address: an address, `localhost`, or a name with its port. */
const naming = /^(localhost|[\d.]+|[^*].*:\d+)$/;

/** Whether one of the operator's patterns names the URL's host so that its private address is meant. */
export const isHostNamed = (url: URL, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => naming.test(pattern) && isHostAmong(url, [pattern]));
