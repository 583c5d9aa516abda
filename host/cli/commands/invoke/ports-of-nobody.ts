import { fail } from '../../../base/core/errors.ts';
import type { PluginPorts } from '../../../endpoints/plugins/index.ts';

const unreachable = (): never => {
  throw fail('NotReady', 'this plugin gets nothing of an application');
};

/** The ports of plugins that do not run, or have no capability. */
export const portsOfNobody: Omit<PluginPorts, 'log'> = {
  deployments: { handle: unreachable, reserve: unreachable },
  openMediaScope: unreachable,
  as: () => ({ storage: unreachable, repositories: unreachable }) as never,
  http: { fetch: unreachable, open: unreachable },
};
