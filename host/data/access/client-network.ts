import ipaddr from 'ipaddr.js';

/**
 * Returns the network that counts as one caller: an IPv4 address, or an IPv6 network of 64 bits, because all its
 * addresses belong to one customer.
 */
export function clientNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address); // an IPv4 address inside IPv6 becomes the IPv4 address
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${(parsed as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}
