import type { CallContext } from 'extism';
import type { Entry } from '../../../../../wit/generated/world/storage.ts';
import type { UserFunction } from '../interface.ts';
import type { FailingFunction } from './host-functions.ts';
import type { RepositoryFunctionOptions } from './repository-functions.ts';

type StorageFunction = Extract<UserFunction, `storage_${string}`>;

/** Returns the functions of the capability `storage`. Values are bytes, and a block 0 is no value. */
export function storageFunctions({
  link,
  attempt,
  blocks,
}: RepositoryFunctionOptions): Readonly<Record<StorageFunction, FailingFunction>> {
  const text = (context: CallContext, address: bigint): string => blocks.text(context, address);
  const json = (context: CallContext, value: unknown): bigint => blocks.store(context, JSON.stringify(value));
  const bytes = (context: CallContext, address: bigint): Uint8Array | undefined =>
    address === 0n ? undefined : blocks.bytes(context, address);
  const expiry = (ms: bigint): number | undefined => (ms === 0n ? undefined : Number(ms));
  const page = (context: CallContext, ...[prefix, after, limit]: bigint[]): readonly unknown[] => [
    text(context, prefix!),
    after === 0n ? undefined : text(context, after!),
    Math.max(0, Number(limit)),
  ];
  const done = 1n;
  return {
    storage_get: attempt((context, key) => {
      const value = link.call<Uint8Array | undefined>('storage#get', text(context, key!));
      return value ? blocks.store(context, value) : 0n;
    }),
    storage_set: attempt((context, key, value) => {
      link.call('storage#set', text(context, key!), blocks.bytes(context, value!));
      return done;
    }),
    storage_set_expiring: attempt((context, key, value, ms) => {
      link.call('storage#set-expiring', text(context, key!), blocks.bytes(context, value!), Number(ms));
      return done;
    }),
    storage_delete: attempt((context, key) => BigInt(link.call<boolean>('storage#delete', text(context, key!)))),
    storage_increment: attempt((context, key, by, ms) =>
      json(context, link.call('storage#increment', text(context, key!), Number(by), expiry(ms!))),
    ),
    storage_compare_and_set: attempt((context, key, expected, value, ms) => {
      const values = [bytes(context, expected!), bytes(context, value!)];
      return BigInt(link.call<boolean>('storage#compare-and-set', text(context, key!), ...values, expiry(ms!)));
    }),
    storage_list: attempt((context, ...args) => json(context, link.call('storage#list', ...page(context, ...args)))),
    storage_entries: attempt((context, ...args) => {
      const entries = link.call<readonly Entry[]>('storage#list-entries', ...page(context, ...args), false);
      return json(
        context,
        entries.map(({ key, size, expiresInMs }) => ({ key, size, expires_in_ms: expiresInMs })),
      );
    }),
  };
}
