import { filtered, loadStatements, Repository } from '../statements.ts';

const sql = loadStatements('wanted-deployments', ['list', 'keep', 'forget', 'record', 'trim', 'changes']);

/** What operators want of a deployment beside its configuration. */
export interface WantedDeployment {
  readonly deployment: string;
  /** The number of replicas or its bounds as JSON; null: as configured. */
  readonly replicas: string | null;
  /** What the configuration said when `replicas` were set. */
  readonly configured: string | null;
  readonly isUnloaded: boolean;
  /** The digest of the options that were applied last, empty if the deployment was removed; null: none were. */
  readonly applied: string | null;
  readonly changedBy: string;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
}

interface Row extends Omit<WantedDeployment, 'isUnloaded' | 'changedBy' | 'changedAt'> {
  readonly is_unloaded: number;
  readonly changed_by: string;
  readonly changed_at: number;
}

/** `add`, `change` and `remove` are of an applied configuration. */
export type ChangeKind = 'scale' | 'load' | 'unload' | 'add' | 'change' | 'remove';

/** A change of a deployment that an operator has made. */
export interface ChangeRecord {
  /** From 1, in the order of the changes of the application. */
  readonly number: number;
  /** That of the controller that made the change. */
  readonly epoch: number;
  readonly deployment: string;
  readonly kind: ChangeKind;
  /** For people, such as the keys that have changed. */
  readonly detail: string;
  readonly changed_by: string;
  /** Milliseconds since 1970. */
  readonly changed_at: number;
}

/** Changes of one application that are kept; older ones are removed. */
export const KEPT_CHANGES = 1000;

/**
 * What operators want of the deployments of one application, and what they did. Call `controllers.require` first in a
 * transaction that writes.
 */
export class WantedDeploymentRepository extends Repository {
  async list(application: string): Promise<WantedDeployment[]> {
    const rows = await this.connection.query<Row>(sql.list, [application]);
    return rows.map(({ is_unloaded, changed_by, changed_at, ...row }) => ({
      ...row,
      isUnloaded: is_unloaded === 1,
      changedBy: changed_by,
      changedAt: changed_at,
    }));
  }

  /**
   * Keeps what is wanted of a deployment, or forgets it if that is what is configured. Default of `changedAt`: now.
   */
  async keep(
    application: string,
    wanted: Omit<WantedDeployment, 'changedAt'> & { readonly changedAt?: number | undefined },
  ): Promise<void> {
    const { deployment, replicas, configured, isUnloaded, applied, changedBy, changedAt } = wanted;
    if (replicas === null && !isUnloaded && applied === null)
      return void (await this.connection.query(sql.forget, [application, deployment]));
    const at = changedAt ?? this.connection.now();
    const values = [replicas, configured, isUnloaded ? 1 : 0, applied, changedBy, at];
    await this.connection.query(sql.keep, [application, deployment, ...values]);
  }

  /** Adds a change to the history, and removes the oldest ones. */
  async record(
    application: string,
    { epoch, deployment, kind, detail, changed_by: changedBy }: Omit<ChangeRecord, 'number' | 'changed_at'>,
  ): Promise<void> {
    const values = [application, epoch, deployment, kind, detail, changedBy, this.connection.now()];
    await this.connection.query(sql.record, values);
    await this.connection.query(sql.trim, [application, KEPT_CHANGES]);
  }

  /** Returns at most `limit` changes, the newest first. */
  changes(
    application: string,
    { limit, deployment }: { readonly limit: number; readonly deployment?: string | undefined },
  ): Promise<ChangeRecord[]> {
    return this.connection.query<ChangeRecord>(
      ...filtered(sql.changes, [application, limit], [['deployment = ?', deployment]]),
    );
  }
}
