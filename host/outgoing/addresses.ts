import { lookup as dnsLookup } from 'node:dns/promises';
import ipaddr from 'ipaddr.js';

/** Whether the address, in text form, is one on the public internet. */
export type AddressPolicy = (address: string) => boolean;

/** All addresses of a host name. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** Public by registration, but answered by the machine's own platform (Azure's host endpoint). */
const PLATFORM_ADDRESSES: ReadonlySet<string> = new Set(['168.63.129.16']);
const NAT64_WELL_KNOWN = ipaddr.IPv6.parse('64:ff9b::');
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::');

/**
 * Whether `address` belongs to the public internet: everything in the registries of special addresses is not (private,
 * loopback, link-local with the metadata services, unique-local, carrier-grade NAT, multicast, reserved, documentation,
 * 6to4, Teredo …). An IPv6 address that stands for an IPv4 one (mapped, or NAT64 under its well-known prefix) is judged
 * as that.
 */
export const isPublicAddress: AddressPolicy = (address) => {
  const meant = meantAddress(address);
  if (meant instanceof ipaddr.IPv4) return meant.range() === 'unicast' && !PLATFORM_ADDRESSES.has(meant.toString());
  return meant !== undefined && meant.match(GLOBAL_UNICAST, 3) && meant.range() === 'unicast';
};

/**
 * The address that a text stands for: of an IPv6 form of an IPv4 address, the latter. `undefined` for other texts, and
 * for an address with a zone, which is no public one.
 */
export function meantAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (!ipaddr.isValid(address) || address.includes('%')) return undefined;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed;
  const v6 = parsed as ipaddr.IPv6;
  return v6.match(NAT64_WELL_KNOWN, 96) ? new ipaddr.IPv4(v6.toByteArray().slice(12)) : v6;
}

/** The address that a URL's host is written as, without brackets; `undefined` for a name. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? bare : undefined;
}

/** What the system says: hosts file, then DNS. */
export const systemLookup: Lookup = async (hostname) =>
  (await dnsLookup(hostname, { all: true, verbatim: true })).map(({ address }) => address);
