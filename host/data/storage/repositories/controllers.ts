import { type AanaError, fail } from '../../../base/core/errors.ts';
import { loadStatements, Repository } from '../statements.ts';

const sql = loadStatements('controllers', ['takeOver', 'read', 'lock']);

/** The controller of an application. */
export interface ControllerRecord {
  /** From 1; each controller has a higher one than those before it. */
  readonly epoch: number;
  /** The machine and the process, for people. */
  readonly host: string;
}

/** The controllers of applications, of which the newest one may write. */
export class ControllerRepository extends Repository {
  /** Makes `host` the controller of an application. Returns its epoch. */
  async takeOver(application: string, host: string): Promise<number> {
    const values = [application, host, this.connection.now()];
    const [row] = await this.connection.query<{ epoch: number }>(sql.takeOver, values);
    return row!.epoch;
  }

  /** Returns the error that another one than the controller with this epoch is the newest; undefined if it is not. */
  async successor(application: string, epoch: number): Promise<AanaError | undefined> {
    const [row] = await this.connection.query<ControllerRecord>(sql.read, [application]);
    return row?.epoch === epoch ? undefined : superseded(application, epoch, row);
  }

  /** No other controller begins before the end of this transaction. Throws `ControllerSuperseded` if one has begun. */
  async require(application: string, epoch: number): Promise<void> {
    const [row] = await this.connection.query<ControllerRecord>(sql.lock, [application]);
    if (row?.epoch !== epoch) throw superseded(application, epoch, row);
  }
}

function superseded(application: string, epoch: number, newest: ControllerRecord | undefined): AanaError {
  const why =
    newest && newest.epoch > epoch
      ? `${newest.host} (epoch ${newest.epoch}) has become the controller of ${application}`
      : `the database knows no start of ${application} as late as this one (epoch ${epoch}), so it was put back or ` +
        'replaced; start this host again to make it the controller';
  return fail('ControllerSuperseded', `${why}; this host changes, starts and replaces no replicas any more`);
}
