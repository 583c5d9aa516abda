import ipaddr from 'ipaddr.js';
import * as z from 'zod';
import { settings } from '../registry.ts';

/** A Unix socket to listen on instead of a port. */
export const LISTEN_KEYS = {
  listen: z
    .string()
    .regex(/^unix:\/./, 'must be unix:/absolute/path')
    .nullable()
    .default(null)
    .describe('A Unix socket to listen on instead of `host` and `port`: `unix:/run/aana/http.sock`.')
    .register(settings, { flag: '--listen <address>' }),
  socket_mode: z
    .string()
    .regex(/^0?[0-7]{3}$/, 'must be an octal mode such as 0660')
    .default('0660')
    .describe('File mode of the socket in `listen`, which decides who may connect.')
    .register(settings, { flag: '--socket-mode <mode>' }),
};

export const TrustedProxies = z
  .array(z.string().refine(isProxyName, 'must be an address, a network such as 10.0.0.0/8, "loopback" or "unix"'))
  .default([])
  .describe(
    'Proxies whose `X-Forwarded-For`, `-Proto`, `-Host` and `-Prefix` the host believes: addresses, networks ' +
      '(`10.0.0.0/8`), `loopback`, or `unix` (every client of the socket in `listen`).',
  )
  .register(settings, { flag: '--trusted-proxy <address>' });

/** A name, a name with its subdomains (`.example.org`), or `*`; without a port. */
const HOST_NAME = /^(\*|\.?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*)$/i;

export const AllowedHosts = z
  .array(
    z
      .string()
      .max(255)
      .regex(
        HOST_NAME,
        'must be a name without a port, such as aana.example.org; ".example.org" for it and its subdomains; or "*"',
      ),
  )
  .default([])
  .describe(
    'Host names under which browsers may use the server: `aana.example.org`, `.example.org` (with its subdomains), ' +
      'or `*` for all. Addresses, localhost and the name of the machine are always allowed. See ' +
      '[operating.md](operating.md#names-of-the-server).',
  )
  .register(settings, { flag: '--allowed-host <name>' });

/** Returns whether the text is an address, a network, "loopback" or "unix". */
function isProxyName(text: string): boolean {
  return text === 'loopback' || text === 'unix' || ipaddr.isValid(text) || ipaddr.isValidCIDR(text);
}
