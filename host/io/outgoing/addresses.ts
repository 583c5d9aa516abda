import { lookup as dnsLookup } from 'node:dns/promises';
import ipaddr from 'ipaddr.js';

/** Returns whether an address, in text form, may be reached as a public one. */
export type AddressPolicy = (address: string) => boolean;

/** Returns all addresses of a host name. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** Addresses that are public by registration but answered by the machine's platform (Azure's host endpoint). */
const PLATFORM_ADDRESSES: ReadonlySet<string> = new Set(['168.63.129.16']);
/** Addresses of metadata services in networks that are private by registration (AWS, Google Cloud). */
const PRIVATE_PLATFORM_ADDRESSES: ReadonlySet<string> = new Set(['fd00:ec2::254', 'fd20:ce::254']);
const NAT64_WELL_KNOWN = ipaddr.IPv6.parse('64:ff9b::');
const GLOBAL_UNICAST = ipaddr.IPv6.parse('2000::');

/**
 * Returns whether `address` belongs to the public internet. Special addresses of the registries do not (private,
 * loopback, link-local with the metadata services, unique-local, carrier-grade NAT, multicast, reserved, documentation,
 * 6to4, Teredo …). An IPv6 address that represents an IPv4 address (mapped, or NAT64 with its well-known prefix) is
 * judged as the IPv4 address.
 */
export const isPublicAddress: AddressPolicy = (address) => {
  const meant = meantAddress(address);
  if (meant instanceof ipaddr.IPv4) return meant.range() === 'unicast' && !PLATFORM_ADDRESSES.has(meant.toString());
  return meant !== undefined && meant.match(GLOBAL_UNICAST, 3) && meant.range() === 'unicast';
};

/** Returns whether `address` belongs to a private network: not to this machine alone, a link, or a platform. */
export const isOfPrivateNetwork: AddressPolicy = (address) => {
  const meant = meantAddress(address);
  const range = meant?.range();
  return (range === 'private' || range === 'uniqueLocal') && !PRIVATE_PLATFORM_ADDRESSES.has(meant!.toString());
};

/**
 * Returns the address of a text. An IPv6 form of an IPv4 address becomes the IPv4 address. `undefined` for other texts,
 * and for an address with a zone, which is never public.
 */
export function meantAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (!ipaddr.isValid(address) || address.includes('%')) return undefined;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed;
  const v6 = parsed as ipaddr.IPv6;
  return v6.match(NAT64_WELL_KNOWN, 96) ? new ipaddr.IPv4(v6.toByteArray().slice(12)) : v6;
}

/** Returns the address in a URL's host, without brackets; `undefined` if the host is a name. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
  return ipaddr.isValid(bare) ? bare : undefined;
}

/** Resolves names like the system: hosts file, then DNS. */
export const systemLookup: Lookup = async (hostname) =>
  (await dnsLookup(hostname, { all: true, verbatim: true })).map(({ address }) => address);
