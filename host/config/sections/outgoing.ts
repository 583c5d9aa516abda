import * as z from 'zod';

const proxy = (what: string) =>
  z
    .string()
    .refine(isProxyUrl, 'must be the address of an HTTP proxy, such as http://proxy.example.org:3128')
    .nullable()
    .default(null)
    .describe(
      `Proxy for ${what}, \`http://user:password@host:port\`; \`https://\` is a proxy that is spoken to over TLS.`,
    );

export const OutgoingConfig = z.strictObject({
  http_proxy: proxy('URLs with http'),
  https_proxy: proxy('URLs with https'),
  no_proxy: z
    .string()
    .nullable()
    .default(null)
    .describe(
      'Hosts that are asked directly, with commas between them: `example.org` (and all below it), `10.0.0.0/8`, `host:port`, or `*`.',
    ),
  proxy_resolves: z
    .boolean()
    .default(false)
    .describe(
      'Whether the proxy looks names up, where this machine cannot. Private addresses are then refused only where a URL names them: the proxy must refuse the others.',
    ),
  ca_file: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe('PEM file of certificate authorities that are trusted besides those of Node and of NODE_EXTRA_CA_CERTS.'),
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
