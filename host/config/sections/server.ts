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

/** Whether a text names proxies: an address, a network, or one of the two words. */
function isProxyName(text: string): boolean {
  return text === 'loopback' || text === 'unix' || ipaddr.isValid(text) || ipaddr.isValidCIDR(text);
}
