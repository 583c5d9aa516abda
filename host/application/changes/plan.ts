import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Config, differingKeys } from '../../config/index.ts';
import type { ControlValue } from '../../control/index.ts';
import { type BoundDeployment, changedOptions, kindOfChange } from '../../deployments/index.ts';

export type ChangePlan = ControlValue<'configuration.plan'>;

/** One change of a deployment that a configuration asks for. */
export type DeploymentChange =
  | { readonly kind: 'add'; readonly name: string; readonly after: BoundDeployment }
  | {
      readonly kind: 'change';
      readonly name: string;
      readonly before: BoundDeployment;
      readonly after: BoundDeployment;
    }
  | { readonly kind: 'remove'; readonly name: string; readonly before: BoundDeployment };

export interface PlanInput {
  /** The configuration that was started or applied last. */
  readonly now: Config;
  readonly next: Config;
  /** The deployments of `next`. */
  readonly wanted: ReadonlyMap<string, BoundDeployment>;
  /** All deployments of the application. */
  readonly registered: ReadonlyMap<string, BoundDeployment>;
  /** The endpoints with the deployments that they declare. */
  readonly endpoints: readonly { readonly name: string; readonly deployments?: readonly string[] | undefined }[];
}

export interface Planned {
  readonly plan: ChangePlan;
  /** In the order in which they are made: additions, changes, removals. */
  readonly changes: readonly DeploymentChange[];
}

/** Settings that a running application changes at once: limits of users. */
const LIVE_SETTINGS =
  /^(user_limits\.|rate_limits\.(default|endpoints|users|keys|documentation)$|task_queue\.(users|maximum_(waiting_tasks|stored_bytes|watchers)_per_user|maximum_priority|maximum_execution_timeout)$)/;

/**
 * Returns what an application must change to have the configuration `next`. Deployments that its program registered are
 * kept unless `next` has their names. What a running application cannot change is in `refused`.
 */
export function planChanges({ now, next, wanted, registered, endpoints }: PlanInput): Planned {
  const differing = differingKeys(now, next).filter((key) => key !== 'deployments');
  const settings = differing.filter((key) => LIVE_SETTINGS.test(key));
  const refused: { key: string; reason: string }[] = differing
    .filter((key) => !LIVE_SETTINGS.test(key))
    .map((key) => ({ key, reason: 'it is read at the start; restart the host with this configuration' }));
  const changes: DeploymentChange[] = [];
  for (const [name, after] of wanted) if (!registered.has(name)) changes.push({ kind: 'add', name, after });
  for (const [name, after] of wanted) {
    const before = registered.get(name);
    if (!before || isDeepStrictEqual(before.options, after.options)) continue;
    if (before.definition.name === after.definition.name) changes.push({ kind: 'change', name, before, after });
    else
      refused.push({
        key: `deployments.${name}.type`,
        reason: `a ${before.definition.name} cannot become a ${after.definition.name}; give the new one another name`,
      });
  }
  for (const name of Object.keys(now.deployments)) {
    const before = registered.get(name);
    if (!before || wanted.has(name)) continue;
    const users = endpoints.filter(({ deployments = [] }) => deployments.includes(name));
    if (users.length === 0) changes.push({ kind: 'remove', name, before });
    else
      refused.push({
        key: `deployments.${name}`,
        reason: `it cannot be removed, because ${users.map((one) => one.name).join(', ')} declares it`,
      });
  }
  const kept = [...registered.keys()].filter((name) => !changes.some((change) => change.name === name)).length;
  const plan = { changes: changes.map(described), settings, refused, unchanged: kept };
  return { plan: { id: idOf(plan, changes, next), ...plan }, changes };
}

function described(change: DeploymentChange): ChangePlan['changes'][number] {
  const { kind, name } = change;
  if (kind === 'add') return { kind, deployment: name, how: 'start', keys: [] };
  if (kind === 'remove') return { kind, deployment: name, how: 'stop', keys: [] };
  const how = kindOfChange(change.before, change.after) === 'roll' ? 'rolling' : 'in-place';
  return { kind, deployment: name, how, keys: changedOptions(change.before, change.after) };
}

/** Returns a digest of the plan and of the options and settings that it leads to. */
function idOf(plan: object, changes: readonly DeploymentChange[], next: Config): string {
  const { user_limits: users, rate_limits: rates, task_queue: tasks } = next;
  const options = changes.map((change) => [
    'before' in change && change.before.options,
    'after' in change && change.after.options,
  ]);
  return createHash('sha256')
    .update(JSON.stringify([plan, options, users, rates, tasks]))
    .digest('hex')
    .slice(0, 16);
}
