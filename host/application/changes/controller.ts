import { hostname } from 'node:os';
import { RepeatedWork } from '../../base/core/async/repeated-work.ts';
import type { AanaError } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Repositories, Storage } from '../../data/storage/index.ts';

export interface ControllerOptions {
  readonly storage: Pick<Storage, 'read' | 'write'>;
  /** Returns how the database knows the application. Undefined: no later start would recognise it. */
  readonly application: () => string | undefined;
  readonly log: Logger;
  /** The machine and the process, for people. Default: this process. */
  readonly host?: string | undefined;
}

/** A controller whose epoch is in the database. */
export interface Control {
  readonly application: string;
  readonly epoch: number;
}

/** Time between two looks at who the controller is. */
const LOOK_EVERY_MS = 5000;

/**
 * The control of an application: the right to replace replicas, and to write what operators want. A host takes it when
 * its start has succeeded, with the next epoch in the database, and what it writes names its epoch. When another host
 * has taken a later one, this host has lost the control until its next start, but still serves with the replicas that
 * it has.
 */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #looks: RepeatedWork;
  #beginning: Promise<Control | undefined> | undefined;
  #control: Control | undefined;
  #successor: AanaError | undefined;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#looks = new RepeatedWork({
      everyMs: LOOK_EVERY_MS,
      work: () => this.look(),
      // While the database is away, the host still replaces lost replicas, which nobody else uses.
      onError: (error) => options.log.debug('the controller cannot be read', { error }),
    });
  }

  /** Takes the control. Returns undefined if nothing is kept. May be called again. Opens the database. */
  begin(): Promise<Control | undefined> {
    this.#beginning ??= this.#begin();
    this.#beginning.catch(() => (this.#beginning = undefined)); // the next call tries again
    return this.#beginning;
  }

  /** How the database knows the application. Undefined: no later start would recognise it, so nothing is kept. */
  get application(): string | undefined {
    return this.#options.application();
  }

  /** Undefined before the control begins, and if nothing is kept. */
  get epoch(): number | undefined {
    return this.#control?.epoch;
  }

  /** Why this host has lost the control; undefined if it has not. */
  readonly superseded = (): AanaError | undefined => this.#successor;

  /** Looks who the controller is. */
  async look(): Promise<void> {
    const control = this.#control;
    if (!control || this.#successor) return;
    this.#lose(
      await this.#options.storage.read(({ controllers }) => controllers.successor(control.application, control.epoch)),
    );
  }

  /**
   * Throws `ControllerSuperseded` if this host has lost the control, and the error of a database that takes no changes:
   * a file of SQLite can be read while another process locks it.
   */
  async require(): Promise<void> {
    if (this.#successor) throw this.#successor;
    if (this.#control) await this.write(async () => {});
  }

  /**
   * Runs one transaction, before whose end no other host takes the control, which this host takes if it never had it.
   * Does nothing if nothing is kept. Throws `ControllerSuperseded`.
   */
  async write(work: (repositories: Repositories, control: Control) => Promise<void>): Promise<void> {
    const control = await this.begin();
    if (!control) return;
    try {
      await this.#options.storage.write(async (repositories) => {
        await repositories.controllers.require(control.application, control.epoch);
        await work(repositories, control);
      });
    } catch (error) {
      await this.look().catch(() => {});
      throw error;
    }
  }

  /** Waits for the look that is under way. May be called twice. */
  async stop(): Promise<void> {
    await this.#looks.stop();
  }

  async #begin(): Promise<Control | undefined> {
    const { storage, host = `process ${process.pid} of ${hostname()}` } = this.#options;
    const { application } = this;
    if (application === undefined) return undefined;
    const epoch = await storage.write(({ controllers }) => controllers.takeOver(application, host));
    this.#control = { application, epoch };
    this.#looks.start();
    return this.#control;
  }

  #lose(successor: AanaError | undefined): void {
    if (!successor || this.#successor) return;
    this.#successor = successor;
    this.#options.log.error('this host is no longer the controller', { reason: successor.message });
  }
}
