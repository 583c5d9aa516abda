import type { StorageCalls } from '../../../../wit/generated/world/storage.ts';
import { Base64Bytes } from '../sandbox/index.ts';
import { bytesOfBase64 } from './scope/base64.ts';
import type { CallsOf } from './scope/scope.ts';

const maxKeysAtOnce = 1000;
const atOnce = (limit: number): number => Math.min(limit, maxKeysAtOnce);
const valueOf = (base64: string): Uint8Array => bytesOfBase64(base64, 'a stored value');

/** Values by key, in the namespace of the plugin. */
export const storageCalls: CallsOf<keyof StorageCalls> = {
  'storage.get': ({ user, plugin }, key) => user.storage.get(plugin, key),
  async 'storage.set'({ user, plugin }, key, value) {
    await user.storage.set(plugin, key, value);
    return undefined;
  },
  'storage.delete': ({ user, plugin }, key) => user.storage.delete(plugin, key),
  'storage.list': ({ user, plugin }, prefix, after, limit) =>
    user.storage.list(plugin, { prefix, after, limit: atOnce(limit) }),
  'storage.get-text': ({ user, plugin }, key) => user.storage.getText(plugin, key),
  async 'storage.set-text'({ user, plugin }, key, value, expiresInMs) {
    await user.storage.set(plugin, key, Buffer.from(value), { expiresInMs });
    return undefined;
  },
  async 'storage.set-expiring'({ user, plugin }, key, value, expiresInMs) {
    await user.storage.set(plugin, key, value, { expiresInMs });
    return undefined;
  },
  'storage.increment': ({ user, plugin }, key, by, expiresInMs) =>
    user.storage.increment(plugin, key, by, { expiresInMs }),
  'storage.compare-and-set': ({ user, plugin }, key, expected, value, expiresInMs) =>
    user.storage.compareAndSet(plugin, key, { expected, value, expiresInMs }),
  async 'storage.get-base64'({ user, plugin }, key) {
    const value = await user.storage.get(plugin, key);
    return value && new Base64Bytes(value);
  },
  async 'storage.set-base64'({ user, plugin }, key, value, expiresInMs) {
    await user.storage.set(plugin, key, valueOf(value), { expiresInMs });
    return undefined;
  },
  'storage.compare-and-set-base64': ({ user, plugin }, key, expected, value, expiresInMs) =>
    user.storage.compareAndSet(plugin, key, {
      expected: expected === undefined ? undefined : valueOf(expected),
      value: value === undefined ? undefined : valueOf(value),
      expiresInMs,
    }),
  'storage.list-entries': ({ user, plugin }, prefix, after, limit, withText) =>
    user.storage.entries(plugin, { prefix, after, limit: atOnce(limit), withText }),
};
