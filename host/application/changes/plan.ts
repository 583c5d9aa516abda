import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { changedSettings, type Config } from '../../base/config/index.ts';
import type { ChangePlan } from '../../apis/http/index.ts';
import {
  type Bound,
  type BoundDeployment,
  calleesFirst,
  callersOf,
  changedOptions,
  kindOfChange,
  requireCallees,
  requireNoCycle,
} from '../../inference/deployments/index.ts';

/** A deployment that a configuration adds or changes. */
type Made =
  | { readonly kind: 'add'; readonly name: string; readonly after: BoundDeployment }
  | {
      readonly kind: 'change';
      readonly name: string;
      readonly before: BoundDeployment;
      readonly after: BoundDeployment;
    };

/** One change of a deployment that a configuration asks for. */
export type DeploymentChange =
  | Made
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
  /**
   * In the order in which they are made: additions and changes, each after those of the deployments that it will call;
   * then removals, each after those of the deployments that call it now.
   */
  readonly changes: readonly DeploymentChange[];
}

/**
 * Returns what an application must change to have the configuration `next`. Deployments that its program registered are
 * kept unless `next` has their names. What a running application cannot change is in `refused`. Throws
 * `ValidationError` if a deployment would call itself, or one that is not there.
 */
export function planChanges({ now, next, wanted, registered, endpoints, liveSections }: PlanInput): Planned {
  const changed = changedSettings(now, next).filter(({ key }) => key !== 'deployments');
  const live = changed.filter(({ key, isLive = false }) => isLive && liveSections.includes(key.split('.')[0] ?? ''));
  const refused: { key: string; reason: string }[] = changed
    .filter((setting) => !live.includes(setting))
    .map(({ key }) => ({ key, reason: 'it is read at the start; restart the host with this configuration' }));
  const made: Made[] = [];
  for (const [name, after] of wanted) if (!registered.has(name)) made.push({ kind: 'add', name, after });
  for (const [name, after] of wanted) {
    const before = registered.get(name);
    if (!before || isDeepStrictEqual(before.options, after.options)) continue;
    if (before.definition.name === after.definition.name) made.push({ kind: 'change', name, before, after });
    else
      refused.push({
        key: `deployments.${name}.type`,
        reason: `a ${before.definition.name} cannot become a ${after.definition.name}; give the new one another name`,
      });
  }
  const dropped = Object.keys(now.deployments).filter((name) => registered.has(name) && !wanted.has(name));
  const all = new Map([...registered, ...made.map(({ name, after }) => [name, after] as const)]);
  const kept = new Map([...all].filter(([name]) => !dropped.includes(name)));
  for (const { name } of made) {
    requireCallees(name, all);
    requireNoCycle(name, kept);
  }
  const removed: string[] = [];
  for (const name of dropped) {
    const users = [
      ...endpoints.filter(({ deployments = [] }) => deployments.includes(name)).map((one) => `${one.name} declares`),
      ...callersOf(name, kept).map((caller) => `${caller} calls`),
    ];
    if (users.length === 0) removed.push(name);
    else
      refused.push({
        key: `deployments.${name}`,
        reason: `it cannot be removed, because ${users.join(' it, and ')} it`,
      });
  }
  const changes = inOrder(made, removed, kept, registered);
  const unchanged = [...registered.keys()].filter((name) => !changes.some((change) => change.name === name)).length;
  const plan = { changes: changes.map(described), settings: live.map(({ key }) => key), refused, unchanged };
  const values = live.map(({ value }) => value);
  return { plan: { id: idOf(plan, changes, values), ...plan }, changes };
}

/** Returns the changes such that after each of them no deployment calls one that is not there, or itself. */
function inOrder(made: readonly Made[], removed: readonly string[], next: Bound, now: Bound): DeploymentChange[] {
  const byName = new Map(made.map((change) => [change.name, change]));
  return [
    ...calleesFirst(byName.keys(), next).map((name) => byName.get(name)!),
    ...calleesFirst(removed, now)
      .toReversed()
      .map((name) => ({ kind: 'remove', name, before: now.get(name)! }) as const),
  ];
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
