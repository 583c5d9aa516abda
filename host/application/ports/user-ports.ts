import type { Config } from '../../base/config/index.ts';
import type { ForCallers } from '../../base/core/request-context.ts';
import { PluginStorage, type Storage } from '../../data/storage/index.ts';
import type { UserPorts } from '../../endpoints/plugins/index.ts';

/**
 * Returns the storage and repositories for invocations of a user: the user's own, or the shared ones where the
 * application lets users share.
 */
export function userPorts(
  database: Storage,
  {
    share_repositories: sharesRepositories,
    shared_storage: shared,
    maximum_repository_bytes_per_user: maxBytes,
  }: Config['api_service'],
): ForCallers<UserPorts>['as'] {
  const isShared = (plugin: string): boolean => shared.includes(plugin) || shared.includes('*');
  return ({ userId, traceparent }) => {
    const storage = database.inTrace(traceparent);
    const ownerOf = (plugin: string): string | null => (isShared(plugin) ? null : userId);
    const owner = sharesRepositories ? null : userId;
    return {
      storage: new PluginStorage(storage, ownerOf),
      vectors: {
        read: (plugin, work) => storage.read((all) => work(all.pluginVectorsOf(plugin, ownerOf(plugin)))),
        write: (plugin, work) => storage.write((all) => work(all.pluginVectorsOf(plugin, ownerOf(plugin)))),
      },
      repositories: {
        read: (work) => storage.read((repositories) => work(repositories.of(owner, { maxBytes }))),
        write: (work) => storage.write((repositories) => work(repositories.of(owner, { maxBytes }))),
      },
    };
  };
}
