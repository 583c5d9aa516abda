import type { CallsOf } from './scope/scope.ts';

const maxKeysAtOnce = 1000;

/** Values by key, in the plugin's own namespace. */
export const storageCalls: CallsOf<'storage.get' | 'storage.set' | 'storage.delete' | 'storage.list'> = {
  'storage.get': ({ ports, plugin }, key) => ports.storage.get(plugin, key),
  async 'storage.set'({ ports, plugin }, key, value) {
    await ports.storage.set(plugin, key, value);
    return undefined;
  },
  'storage.delete': ({ ports, plugin }, key) => ports.storage.delete(plugin, key),
  'storage.list': ({ ports, plugin }, prefix, after, limit) =>
    ports.storage.list(plugin, { prefix, after, limit: Math.min(limit, maxKeysAtOnce) }),
};
