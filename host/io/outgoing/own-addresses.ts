import { networkInterfaces } from 'node:os';
import { type AddressPolicy, isPublicAddress, meantAddress } from './addresses.ts';

/**
 * Returns whether the host may connect to `address` on behalf of clients: it is public and does not belong to an
 * interface of this machine. The interfaces are queried each time, because they change while the server runs. Public
 * addresses of a router in front of this machine are not known here.
 */
export const isForeignAddress: AddressPolicy = (address) => isPublicAddress(address) && !isOwnAddress(address);

function isOwnAddress(address: string): boolean {
  const wanted = meantAddress(address)?.toString();
  return wanted !== undefined && interfaceAddresses().some((own) => meantAddress(own)?.toString() === wanted);
}

function interfaceAddresses(): string[] {
  try {
    return Object.values(networkInterfaces()).flatMap((addresses = []) => addresses.map(({ address }) => address));
  } catch {
    return []; // some sandboxes forbid listing them
  }
}
