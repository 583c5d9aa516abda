import { networkInterfaces } from 'node:os';
import { type AddressPolicy, isPublicAddress, meantAddress } from './addresses.ts';

/**
 * Whether clients may lead the host to `address`, in text form: it belongs to the public internet and to no network
 * interface of this machine. The system is asked for the interfaces each time, because they come and go while the
 * server runs. An address that only a router in front of this machine has is not known here.
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
    return []; // some sandboxes do not let a process list them
  }
}
