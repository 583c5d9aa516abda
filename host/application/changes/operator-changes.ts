import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { ChangeKind, ChangeRecord, Storage, WantedDeployment } from '../../data/storage/index.ts';
import {
  type BoundDeployment,
  calleesFirst,
  callersOf,
  changedOptions,
  firstReplicas,
  type DeploymentManager,
  type ReplicaRange,
} from '../../inference/deployments/index.ts';
import type { Controller } from './controller.ts';
import type { DeploymentChange } from './plan.ts';

export interface OperatorChangesOptions {
  readonly controller: Controller;
  readonly storage: Pick<Storage, 'read'>;
  readonly deployments: () => Pick<DeploymentManager, 'registered' | 'planStart' | 'scale' | 'unload'>;
  readonly load: (name: string) => Promise<void>;
  /** Whether the start has succeeded. */
  readonly isStarted: () => boolean;
  readonly log: Logger;
}

/** The parts of a row that a change sets. */
type Wanted = Partial<Omit<WantedDeployment, 'deployment' | 'changedBy' | 'changedAt'>>;

/** A change that was made, and what is wanted of the deployment from now on. */
interface Made {
  readonly deployment: string;
  readonly kind: ChangeKind;
  readonly detail: string;
  readonly wanted: Wanted;
}

const CONFIGURED_REPLICAS = { replicas: null, configured: null };
const AS_CONFIGURED = { ...CONFIGURED_REPLICAS, isUnloaded: false, applied: null };

/**
 * The changes of deployments that operators make, which are kept over restarts, and their history. A number of replicas
 * stays until the configuration says another number than when it was set, and an unloaded deployment stays unloaded
 * until it is loaded. An applied configuration is not kept: a start has the configuration that it reads, and says where
 * this differs from the one that was applied last.
 */
export class OperatorChanges {
  readonly #options: OperatorChangesOptions;
  /** The replicas that the configuration or the program asks for, as JSON, of deployments that may have others. */
  readonly #configured = new Map<string, string>();
  /** The rows that the start has found to be overridden by the configuration, and what is left of each. */
  #overridden: readonly { readonly row: WantedDeployment; readonly kept: WantedDeployment }[] = [];
  /** Replicas of deployments that start with fewer, as configured. */
  #more: readonly { readonly deployment: string; readonly replicas: number | ReplicaRange }[] = [];

  constructor(options: OperatorChangesOptions) {
    this.#options = options;
  }

  /** Plans the starts of the deployments as operators left them. Opens the database. */
  async planStarts(): Promise<void> {
    const { controller, storage } = this.#options;
    const { application } = controller;
    if (application === undefined) return;
    this.#plan(await storage.read(({ wantedDeployments }) => wantedDeployments.list(application)));
  }

  /**
   * Scales deployments that have started as configured to the larger numbers that operators have set. One without room
   * stays as it is. Rejects only with the signal's reason.
   */
  async finishStarts(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const scaling = this.#more.map(async ({ deployment, replicas }) => {
      try {
        await this.#options.deployments().scale(deployment, replicas);
      } catch (error) {
        signal.throwIfAborted();
        log.warn('the replicas that an operator wants cannot be had; the deployment starts as configured', {
          ...{ deployment, replicas, error },
        });
      }
    });
    await Promise.all(scaling);
  }

  /** Takes the control, when the start has succeeded. Opens the database. */
  async begin(): Promise<void> {
    const { controller } = this.#options;
    const overridden = this.#overridden;
    if (overridden.length === 0) return void (await controller.begin());
    await controller.write(async ({ wantedDeployments }, { application }) => {
      const now = await wantedDeployments.list(application);
      for (const { row, kept } of overridden)
        // The host before this one may have changed it since this start has read it.
        if (now.some((one) => isDeepStrictEqual(one, row))) await wantedDeployments.keep(application, kept);
    });
    this.#overridden = [];
  }

  /**
   * Throws `ControllerSuperseded` if this host must not change deployments, `NotReady` during its start, and the error
   * of a database that takes no changes.
   */
  async require(): Promise<void> {
    const { controller, isStarted } = this.#options;
    if (!isStarted()) throw fail('NotReady', 'deployments can be changed only after the start');
    await controller.require();
  }

  async scale(deployment: string, replicas: number, by: string): Promise<void> {
    const deployments = this.#options.deployments();
    await this.require();
    const before = replicasOf(deployments.registered().get(deployment));
    await deployments.scale(deployment, replicas);
    const now = replicasOf(deployments.registered().get(deployment));
    const configured = this.#configured.get(deployment) ?? before;
    this.#configured.set(deployment, configured);
    const wanted = now === configured ? CONFIGURED_REPLICAS : { replicas: now, configured };
    await this.#keep([{ deployment, kind: 'scale', detail: `${rangeText(before)} to ${rangeText(now)}`, wanted }], by);
  }

  async load(deployment: string, by: string): Promise<void> {
    await this.require();
    await this.#options.load(deployment);
    await this.#keep([{ deployment, kind: 'load', detail: '', wanted: { isUnloaded: false } }], by);
  }

  async unload(deployment: string, options: { readonly graceMs?: number | undefined }, by: string): Promise<void> {
    await this.require();
    await this.#options.deployments().unload(deployment, options);
    await this.#keep([{ deployment, kind: 'unload', detail: '', wanted: { isUnloaded: true } }], by);
  }

  /** Called when a configuration was applied, which has made these changes. */
  async applied(changes: readonly DeploymentChange[], by: string): Promise<void> {
    const made = changes.map((change): Made => {
      const { kind, name: deployment } = change;
      if (kind === 'remove')
        return { deployment, kind, detail: '', wanted: { ...CONFIGURED_REPLICAS, isUnloaded: false, applied: '' } };
      this.#configured.set(deployment, replicasOf(change.after));
      const detail = kind === 'change' ? changedOptions(change.before, change.after).join(', ') : '';
      return { deployment, kind, detail, wanted: { ...CONFIGURED_REPLICAS, applied: digestOf(change.after) } };
    });
    if (made.length > 0) await this.#keep(made, by);
  }

  /** Returns the epoch of this host and the last changes, the newest first; null and none if nothing is kept. */
  async history(query: {
    readonly limit: number;
    readonly deployment?: string | undefined;
  }): Promise<{ readonly epoch: number | null; readonly changes: ChangeRecord[] }> {
    const { controller, storage } = this.#options;
    const { application, epoch } = controller;
    if (application === undefined || epoch === undefined) return { epoch: null, changes: [] };
    const changes = await storage.read(({ wantedDeployments }) => wantedDeployments.changes(application, query));
    return { epoch, changes };
  }

  #plan(rows: readonly WantedDeployment[]): void {
    const { log } = this.#options;
    const deployments = this.#options.deployments();
    const registered = deployments.registered();
    const unloaded = mayStayUnloaded(rows, registered);
    const overridden: { row: WantedDeployment; kept: WantedDeployment }[] = [];
    const more: { deployment: string; replicas: number | ReplicaRange }[] = [];
    const differing: string[] = [];
    for (const row of rows) {
      const { deployment, changedBy: changed_by } = row;
      const bound = registered.get(deployment);
      const isApplied = row.applied === null || row.applied === (bound ? digestOf(bound) : '');
      if (!isApplied) differing.push(deployment);
      const isUnloaded = unloaded.has(deployment);
      const replicas = bound && this.#replicasFor(row, bound);
      // More replicas than configured may have no room, which must not end the start.
      const later = bound && !isUnloaded && replicas !== undefined && firstOf(replicas) > firstReplicas(bound.options);
      const planned = { replicas: later ? undefined : replicas, isUnloaded };
      if (bound && (replicas !== undefined || isUnloaded) && deployments.planStart(deployment, planned)) {
        if (later) more.push({ deployment, replicas });
        log.info('a deployment starts as an operator left it, not as configured', {
          ...{ deployment, changed_by, changed_at: new Date(row.changedAt).toISOString() },
          ...(replicas !== undefined && { replicas }),
          ...(isUnloaded && { unloaded: true }),
        });
      }
      const kept = {
        ...row,
        isUnloaded,
        ...(!isApplied && { applied: null }),
        ...(replicas === undefined && CONFIGURED_REPLICAS),
      };
      if (!isDeepStrictEqual(kept, row)) overridden.push({ row, kept });
    }
    if (differing.length > 0)
      log.warn('the configuration differs from the one that was applied last; this start has what it says', {
        deployments: differing,
      });
    this.#overridden = overridden;
    this.#more = more;
  }

  /** Returns the replicas that an operator has set; undefined if the configuration says something else since then. */
  #replicasFor({ deployment, ...row }: WantedDeployment, bound: BoundDeployment): number | ReplicaRange | undefined {
    const configured = replicasOf(bound);
    if (row.replicas === null) return undefined;
    if (row.configured === configured) {
      this.#configured.set(deployment, configured);
      return JSON.parse(row.replicas) as number | ReplicaRange;
    }
    this.#options.log.warn('the configuration has another number of replicas than before, so it counts', {
      ...{ deployment, configured: rangeText(configured), set: rangeText(row.replicas), changed_by: row.changedBy },
    });
    return undefined;
  }

  /** Keeps changes that were made. They stand although the database is away. */
  async #keep(made: readonly Made[], by: string): Promise<void> {
    const { controller, log } = this.#options;
    try {
      await controller.write(async ({ wantedDeployments }, { application, epoch }) => {
        const rows = new Map((await wantedDeployments.list(application)).map((row) => [row.deployment, row]));
        for (const { deployment, kind, detail, wanted } of made) {
          const before = rows.get(deployment) ?? AS_CONFIGURED;
          const next = { ...before, ...wanted, deployment, changedBy: by, changedAt: undefined };
          await wantedDeployments.keep(application, next);
          await wantedDeployments.record(application, { epoch, deployment, kind, detail, changed_by: by });
        }
      });
    } catch (error) {
      const deployments = made.map(({ deployment }) => deployment);
      log.error('deployments were changed, but a restart will not know it', { deployments, error });
    }
  }
}

/** Returns the number of replicas, or the bounds of autoscaling, as JSON. */
function replicasOf(bound: BoundDeployment | undefined): string {
  const { num_replicas: count = 1, autoscaling_config: scaling } = bound?.options ?? {};
  if (!scaling) return JSON.stringify(count);
  const { min_replicas, max_replicas } = scaling;
  return JSON.stringify({ min_replicas, max_replicas });
}

/** Returns how many replicas start. */
const firstOf = (replicas: number | ReplicaRange): number =>
  typeof replicas === 'number' ? replicas : replicas.min_replicas;

function rangeText(replicas: string): string {
  const value = JSON.parse(replicas) as number | ReplicaRange;
  return typeof value === 'number' ? String(value) : `${value.min_replicas}–${value.max_replicas}`;
}

/** Returns a digest of the options, in which the order of keys does not matter. Options may have secrets. */
function digestOf({ options }: BoundDeployment): string {
  const sorted = (_key: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return createHash('sha256').update(JSON.stringify(options, sorted)).digest('hex');
}

/** Returns the deployments that were unloaded, without those that others need at their start. */
function mayStayUnloaded(
  rows: readonly WantedDeployment[],
  registered: ReadonlyMap<string, BoundDeployment>,
): ReadonlySet<string> {
  const names = rows.filter(({ deployment, isUnloaded }) => isUnloaded && registered.has(deployment));
  const unloaded = new Set(names.map(({ deployment }) => deployment));
  for (const name of calleesFirst(unloaded, registered).toReversed())
    if (callersOf(name, registered).some((caller) => !unloaded.has(caller))) unloaded.delete(name);
  return unloaded;
}
