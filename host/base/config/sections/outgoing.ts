import * as z from 'zod';
import { textOrNull, toggle } from '../../core/fields.ts';
import { settings } from '../registry.ts';

const proxy = (scheme: string) =>
  z
    .string()
    .refine(isProxyUrl, 'must be the address of an HTTP proxy, such as http://proxy.example.org:3128')
    .nullable()
    .default(null)
    .describe(
      `Proxy for ${scheme} URLs, \`http://user:password@host:port\`. With \`https://\` the host speaks TLS ` +
        `to the proxy.`,
    );

export const OutgoingConfig = z.strictObject({
  http_proxy: proxy('http').register(settings, { env: 'HTTP_PROXY', alsoEnv: 'http_proxy' }),
  https_proxy: proxy('https').register(settings, { env: 'HTTPS_PROXY', alsoEnv: 'https_proxy' }),
  no_proxy: z
    .string()
    .nullable()
    .default(null)
    .describe(
      'Hosts that are reached without a proxy, separated by commas: `example.org` (with its subdomains), ' +
        '`10.0.0.0/8`, `host:port`, or `*` for all.',
    )
    .register(settings, { env: 'NO_PROXY', alsoEnv: 'no_proxy' }),
  proxy_resolves: toggle(
    false,
    'Whether the proxy resolves host names, for machines that cannot. The host then refuses private addresses ' +
      'only where a URL contains one; the proxy must refuse names that lead to them.',
  ).register(settings, { env: 'AANA_PROXY_RESOLVES' }),
  ca_file: textOrNull(
    'PEM file of certificate authorities to trust in addition to those of Node and of NODE_EXTRA_CA_CERTS.',
  ).register(settings, { env: 'SSL_CERT_FILE', isPath: true }),
});

function isProxyUrl(text: string): boolean {
  try {
    const { protocol, username, password } = new URL(text.includes('://') ? text : `http://${text}`);
    decodeURIComponent(`${username}${password}`);
    return protocol === 'http:' || protocol === 'https:';
  } catch {
    return false;
  }
}
