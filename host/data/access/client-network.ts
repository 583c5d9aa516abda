import ipaddr from 'ipaddr.js';

/** Parsing an address costs a fortieth of a small request, and clients send many requests. */
const known = new Map<string, string>();
const MOST_KNOWN = 1000;

/**
 * Returns the network that counts as one caller: an IPv4 address, or an IPv6 network of 64 bits, because all its
 * addresses belong to one customer.
 */
export function clientNetwork(address: string): string {
  const found = known.get(address);
  if (found !== undefined) return found;
  if (known.size >= MOST_KNOWN) known.clear();
  const network = networkOf(address);
  known.set(address, network);
  return network;
}

function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address); // an IPv4 address inside IPv6 becomes the IPv4 address
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${(parsed as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}
