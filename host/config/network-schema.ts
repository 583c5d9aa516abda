import ipaddr from 'ipaddr.js';
import * as z from 'zod';

/** Where to listen instead of on a port. */
export const LISTEN_KEYS = {
  listen: z
    .string()
    .regex(/^unix:\/./, 'must be unix:/absolute/path')
    .nullable()
    .default(null)
    .describe('A Unix socket to listen on in place of `host` and `port`: `unix:/run/aana/http.sock`.'),
  socket_mode: z
    .string()
    .regex(/^0?[0-7]{3}$/, 'must be an octal mode such as 0660')
    .default('0660')
    .describe('Mode of that socket: who may connect.'),
};

export const TrustedProxies = z
  .array(z.string().refine(isProxyName, 'must be an address, a network such as 10.0.0.0/8, "loopback" or "unix"'))
  .default([])
  .describe(
    'Proxies whose `X-Forwarded-For`, `-Proto`, `-Host` and `-Prefix` are believed: addresses, networks (`10.0.0.0/8`), `loopback`, `unix` (whoever connects to the socket of `listen`).',
  );

/** A name, one with all below it, or every name; no port. */
const HOST_NAME = /^(\*|\.?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*)$/i;

export const AllowedHosts = z
  .array(
    z
      .string()
      .max(255)
      .regex(
        HOST_NAME,
        'must be a name such as aana.example.org without a port, ".example.org" for that name and all below it, or "*"',
      ),
  )
  .default([])
  .describe(
    'Names under which browsers may use the server, besides addresses, localhost and the name of the machine: `aana.example.org`, `.example.org` (that name and all below it), or `*`. See [operating.md](operating.md#names-of-the-server).',
  );

export const TlsConfig = z
  .strictObject({
    cert: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe(
        'Certificate of the server with those that lead to its authority, in PEM. With it, and `key`, the server speaks HTTPS.',
      ),
    key: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('Private key of the certificate, in PEM, without a passphrase.'),
    client_ca: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('Authorities of client certificates, in PEM. With it nobody connects who has none of theirs.'),
    min_version: z.enum(['TLSv1.2', 'TLSv1.3']).default('TLSv1.2').describe('Oldest version of TLS that is spoken.'),
    hsts_max_age_s: z
      .int()
      .min(0)
      .max(63_072_000)
      .default(31_536_000)
      .describe(
        'How long browsers are told to use HTTPS alone for this host (`strict-transport-security`), in seconds; 0 does not tell them.',
      ),
  })
  .refine(({ cert, key }) => (cert === null) === (key === null), '`cert` and `key` go together: one of them is not set')
  .refine(({ cert, client_ca: ca }) => cert !== null || ca === null, '`client_ca` needs `cert` and `key`');

const ORIGIN = /^(\*|null|[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+)$/;

export const CorsConfig = z
  .strictObject({
    allow_origins: z
      .array(z.string().regex(ORIGIN, 'must be an origin such as https://app.example.org, without a path, or "*"'))
      .default([])
      .describe(
        'Origins whose pages may use the API from a browser, each as `https://app.example.org`; `*` is every one. None: no page of another origin may.',
      ),
    allow_origin_regex: z
      .string()
      .min(1)
      .refine(isRegularExpression, 'is no regular expression')
      .nullable()
      .default(null)
      .describe('The same, for origins that match as a whole.'),
    allow_credentials: z
      .boolean()
      .default(false)
      .describe('Whether browsers may send cookies and client certificates with such requests.'),
    allow_methods: z
      .array(z.string().regex(/^(\*|[A-Z]+)$/, 'must be a method such as POST, or "*"'))
      .default(['*'])
      .describe('Methods of such requests; `*` is every one.'),
    allow_headers: z
      .array(z.string().regex(/^(\*|[\w-]+)$/, 'must be the name of a header, or "*"'))
      .default(['*'])
      .describe('Headers that such requests may carry; `*` is every one.'),
  })
  .refine(
    ({ allow_credentials: credentials, allow_origins: origins }) => !credentials || !origins.includes('*'),
    '`allow_credentials` needs origins by name, not "*"',
  );

/** Whether a text names proxies: an address, a network, or one of the two words. */
function isProxyName(text: string): boolean {
  return text === 'loopback' || text === 'unix' || ipaddr.isValid(text) || ipaddr.isValidCIDR(text);
}

function isRegularExpression(text: string): boolean {
  try {
    return Boolean(new RegExp(text));
  } catch {
    return false;
  }
}
