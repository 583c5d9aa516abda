import type { StorageCalls } from '../../../../wit/generated/world/storage.ts';
import type { CallsOf } from './scope/scope.ts';

const maxKeysAtOnce = 1000;

/** Values by key, in the namespace of the plugin. */
export const storageCalls: CallsOf<keyof StorageCalls> = {
  'storage.get': ({ user, plugin }, key) => user.storage.get(plugin, key),
  async 'storage.set'({ user, plugin }, key, value) {
    await user.storage.set(plugin, key, value);
    return undefined;
  },
  'storage.delete': ({ user, plugin }, key) => user.storage.delete(plugin, key),
  'storage.list': ({ user, plugin }, prefix, after, limit) =>
    user.storage.list(plugin, { prefix, after, limit: Math.min(limit, maxKeysAtOnce) }),
};
