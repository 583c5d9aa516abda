import { isDeepStrictEqual } from 'node:util';
import type { BoundDeployment } from '../class/bound-deployment.ts';
import type { DeploymentOptions } from '../class/deployment-options.ts';

/**
 * `scale`: only options of the host change. `reconfigure`: running replicas can take the changes. `roll`: replicas must
 * be replaced.
 */
export type KindOfChange = 'none' | 'scale' | 'reconfigure' | 'roll';

/** Options that only the host uses. */
const OF_THE_HOST: ReadonlySet<string> = new Set<keyof DeploymentOptions>([
  'num_replicas',
  'autoscaling_config',
  'max_ongoing_requests',
  'max_queued_requests',
  'start_timeout_s',
  'graceful_shutdown_timeout_s',
  'drain_timeout_s',
  'pinned',
]);

/** Returns the smallest change that leads from `before` to `after`. */
export function kindOfChange(before: BoundDeployment, after: BoundDeployment): KindOfChange {
  const { definition } = after;
  if (before.definition !== definition) return 'roll';
  const changed = changedKeys(before.options, after.options);
  const options = changed.filter((key) => !OF_THE_HOST.has(key));
  if (options.length === 0) return changed.length === 0 ? 'none' : 'scale';
  if (options.length > 1 || options[0] !== 'user_config') return 'roll';
  const { reconfigurable = [] } = definition;
  const config = changedKeys(before.options.user_config, after.options.user_config);
  return reconfigurable === 'all' || config.every((key) => reconfigurable.includes(key)) ? 'reconfigure' : 'roll';
}

/** Returns the keys of the options whose values differ, sorted, such as `num_replicas` or `user_config.model_id`. */
export function changedOptions(before: BoundDeployment, after: BoundDeployment): string[] {
  return changedKeys(before.options, after.options)
    .flatMap((key) =>
      key === 'user_config'
        ? changedKeys(before.options.user_config, after.options.user_config).map((inner) => `${key}.${inner}`)
        : [key],
    )
    .toSorted();
}

function changedKeys(before: object, after: object): string[] {
  const [one, other] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return [...new Set([...one.keys(), ...other.keys()])].filter(
    (key) => !isDeepStrictEqual(one.get(key), other.get(key)),
  );
}
