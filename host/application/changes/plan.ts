import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { changedSettings, type Config } from '../../base/config/index.ts';
import type { ChangePlan } from '../../apis/http/index.ts';
import { type BoundDeployment, callersOf, changedOptions, kindOfChange } from '../../inference/deployments/index.ts';

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
  /** The sections whose live settings the running application takes from a new configuration. */
  readonly liveSections: readonly string[];
}

export interface Planned {
  readonly plan: ChangePlan;
  /** In the order in which they are made: additions, changes, removals. */
  readonly changes: readonly DeploymentChange[];
}

/**
 * Returns what an application must change to have the configuration `next`. Deployments that its program registered are
 * kept unless `next` has their names. What a running application cannot change is in `refused`.
 */
export function planChanges({ now, next, wanted, registered, endpoints, liveSections }: PlanInput): Planned {
  const changed = changedSettings(now, next).filter(({ key }) => key !== 'deployments');
  const live = changed.filter(({ key, isLive = false }) => isLive && liveSections.includes(key.split('.')[0] ?? ''));
  const refused: { key: string; reason: string }[] = changed
    .filter((setting) => !live.includes(setting))
    .map(({ key }) => ({ key, reason: 'it is read at the start; restart the host with this configuration' }));
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
    const users = [
      ...endpoints.filter(({ deployments = [] }) => deployments.includes(name)).map((one) => `${one.name} declares`),
      ...callersOf(name, registered).map((caller) => `${caller} calls`),
    ];
    if (users.length === 0) changes.push({ kind: 'remove', name, before });
    else
      refused.push({
        key: `deployments.${name}`,
        reason: `it cannot be removed, because ${users.join(' it, and ')} it`,
      });
  }
  const kept = [...registered.keys()].filter((name) => !changes.some((change) => change.name === name)).length;
  const plan = { changes: changes.map(described), settings: live.map(({ key }) => key), refused, unchanged: kept };
  const values = live.map(({ value }) => value);
  return { plan: { id: idOf(plan, changes, values), ...plan }, changes };
}

function described(change: DeploymentChange): ChangePlan['changes'][number] {
  const { kind, name } = change;
  if (kind === 'add') return { kind, deployment: name, how: 'start', keys: [] };
  if (kind === 'remove') return { kind, deployment: name, how: 'stop', keys: [] };
  const how = kindOfChange(change.before, change.after) === 'roll' ? 'rolling' : 'in-place';
  return { kind, deployment: name, how, keys: changedOptions(change.before, change.after) };
}

/** Returns a digest of the plan, of the options that it leads to, and of the new values of settings. */
function idOf(plan: object, changes: readonly DeploymentChange[], values: readonly unknown[]): string {
  const options = changes.map((change) => [
    'before' in change && change.before.options,
    'after' in change && change.after.options,
  ]);
  return createHash('sha256')
    .update(JSON.stringify([plan, options, values]))
    .digest('hex')
    .slice(0, 16);
}
