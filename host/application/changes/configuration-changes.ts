import { type Config, reloadConfig } from '../../base/config/index.ts';
import type { ApplyEvent, ChangePlan, GivenConfiguration } from '../../apis/http/index.ts';
import { raceAbort } from '../../base/core/abort.ts';
import { deferred } from '../../base/core/deferred.ts';
import { fail } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { BoundDeployment, DeploymentOptionsInput } from '../../inference/deployments/index.ts';
import type { Services } from '../services.ts';
import type { OperatorChanges } from './operator-changes.ts';
import { type DeploymentChange, planChanges, type Planned } from './plan.ts';

export interface ConfigurationChangesOptions {
  readonly config: Config;
  readonly services: Pick<Services, 'manager' | 'endpoints' | 'bindDeployment' | 'startOne' | 'liveSections'>;
  readonly operator: Pick<OperatorChanges, 'require' | 'applied'>;
  /** Whether the start is over. */
  readonly isDeployed: () => boolean;
  /** Called after a configuration was applied. */
  readonly onApplied: () => void;
  readonly log: Logger;
}

/** A configuration and the deployments that the application has with it. */
interface Wanted {
  readonly next: Config;
  readonly wanted: ReadonlyMap<string, BoundDeployment>;
}

/** Plans and makes changes of the configuration while the application serves. */
export class ConfigurationChanges {
  readonly #options: ConfigurationChangesOptions;
  #current: Config;
  /** The configuration before the one that was applied last, and what the application changed for the latter. */
  #previous: { readonly config: Config; readonly changes: readonly DeploymentChange[] } | undefined;
  #isRunning = false;

  constructor(options: ConfigurationChangesOptions) {
    this.#options = options;
    this.#current = options.config;
  }

  /** The configuration that was started or applied last. */
  get current(): Config {
    return this.#current;
  }

  /**
   * Returns what applying a configuration would do. Throws `ConfigError`, `ValidationError` or
   * `NoPreviousConfiguration`.
   */
  plan(given: GivenConfiguration): ChangePlan {
    return this.#plan(given).planned.plan;
  }

  /**
   * Applies a configuration. Yields what it does; the last event says how it ended. It goes on when the reader leaves.
   * Without success everything is as before. Throws `ChangesRefused` if the plan has refused parts, `PlanChanged` if
   * `planId` is given and is not the id of the plan, and `ChangesRunning` while another one is applied. `by` says who
   * applies it.
   */
  apply(
    given: GivenConfiguration,
    planId: string | undefined,
    by: string,
    signal: AbortSignal,
  ): AsyncGenerator<ApplyEvent, void> {
    if (!this.#options.isDeployed()) throw fail('NotReady', 'a configuration can be applied only after the start');
    if (this.#isRunning) throw fail('ChangesRunning', 'another configuration is being applied; try again later');
    const { next, planned } = this.#plan(given);
    const { refused, id } = planned.plan;
    if (refused.length > 0)
      throw fail(
        'ChangesRefused',
        `nothing was changed: ${refused.map(({ key, reason }) => `${key}: ${reason}`).join('; ')}`,
        { data: { refused } },
      );
    if (planId !== undefined && planId !== id)
      throw fail('PlanChanged', 'the application has changed since this plan was made; plan again');
    const events = new Events();
    this.#isRunning = true;
    void this.#run(next, planned.changes, by, events).finally(() => {
      this.#isRunning = false;
      events.end();
    });
    return events.read(signal);
  }

  #plan(given: GivenConfiguration): { readonly next: Config; readonly planned: Planned } {
    const { manager: deployments, endpoints, liveSections: live } = this.#options.services;
    const registered = deployments.registered();
    const { next, wanted } =
      'previous' in given ? this.#before(registered) : this.#given(reloadConfig(this.#options.config, given));
    return {
      next,
      planned: planChanges({
        ...{ now: this.#current, next, wanted, registered, endpoints: endpoints.list() },
        liveSections: Object.keys(live),
      }),
    };
  }

  #given(next: Config): Wanted {
    const { bindDeployment } = this.#options.services;
    const wanted = new Map(
      Object.entries(next.deployments).map(([name, entry]): [string, BoundDeployment] => [
        name,
        bindDeployment(name, structuredClone(entry) as DeploymentOptionsInput),
      ]),
    );
    return { next, wanted };
  }

  /** Takes the last changes back, also those of deployments that the program had registered. */
  #before(registered: ReadonlyMap<string, BoundDeployment>): Wanted {
    if (!this.#previous)
      throw fail(
        'NoPreviousConfiguration',
        'no configuration was applied since the start, so there is none to go back to',
      );
    const wanted = new Map(registered);
    for (const change of this.#previous.changes) {
      if (change.kind === 'add') wanted.delete(change.name);
      else wanted.set(change.name, change.before);
    }
    return { next: this.#previous.config, wanted };
  }

  async #run(next: Config, changes: readonly DeploymentChange[], by: string, events: Events): Promise<void> {
    const { log, operator } = this.#options;
    const done: DeploymentChange[] = [];
    try {
      await operator.require();
    } catch (error) {
      events.push({ deployment: null, state: 'rolled-back', text: `nothing was changed: ${messageOf(error)}` });
      return;
    }
    for (const change of changes) {
      const { name } = change;
      events.push({ deployment: name, state: 'begins', text: TEXTS[change.kind] });
      try {
        await this.#make(change, (text) => events.push({ deployment: name, state: 'progress', text }));
      } catch (error) {
        const reason = messageOf(error);
        events.push({ deployment: name, state: 'failed', text: reason });
        const isBack = await this.#undo(done, events);
        const what = isBack ? 'nothing was changed' : 'not everything could be taken back';
        events.push({ deployment: null, state: 'rolled-back', text: `${what}: ${name}: ${reason}` });
        log.error('configuration not applied', { deployment: name, reason });
        return;
      }
      done.push(change);
      events.push({ deployment: name, state: 'done', text: '' });
    }
    for (const take of Object.values(this.#options.services.liveSections)) take(next);
    this.#previous = { config: this.#current, changes };
    this.#current = next;
    await operator.applied(changes, by);
    this.#options.onApplied();
    events.push({ deployment: null, state: 'applied', text: '' });
    log.info('configuration applied', { changes: changes.map(({ kind, name }) => `${kind} ${name}`) });
  }

  async #make(change: DeploymentChange, tell: (text: string) => void): Promise<void> {
    const { manager: deployments, startOne } = this.#options.services;
    const { name } = change;
    let last = '';
    const onProgress = ({ text, fraction }: { readonly text: string; readonly fraction: number | undefined }): void => {
      const percent = fraction === undefined ? '' : ` ${Math.floor(fraction * 10) * 10} %`;
      if (`${text}${percent}` !== last) tell((last = `${text}${percent}`));
    };
    switch (change.kind) {
      case 'add':
        deployments.register(name, change.after);
        return startOne(name, { onProgress });
      case 'change': {
        const { outcome, reason } = await deployments.update(name, change.after, { onProgress });
        if (outcome === 'rolled-back') throw fail('FailedDeployment', reason);
        return;
      }
      case 'remove':
        return deployments.remove(name);
    }
  }

  /**
   * Takes changes back, the last one first. A failure is logged, and the others are taken back. Returns whether all
   * were.
   */
  async #undo(done: readonly DeploymentChange[], events: Events): Promise<boolean> {
    const { log } = this.#options;
    let isBack = true;
    for (const change of done.toReversed()) {
      const { name } = change;
      try {
        await this.#make(opposite(change), () => {});
        events.push({ deployment: name, state: 'undone', text: '' });
      } catch (error) {
        isBack = false;
        const reason = messageOf(error);
        events.push({ deployment: name, state: 'failed', text: `it could not be taken back: ${reason}` });
        log.error('change of the configuration not taken back', { deployment: name, reason });
      }
    }
    return isBack;
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const TEXTS: Readonly<Record<DeploymentChange['kind'], string>> = {
  add: 'starting',
  change: 'changing',
  remove: 'removing',
};

function opposite(change: DeploymentChange): DeploymentChange {
  const { name } = change;
  switch (change.kind) {
    case 'add':
      return { kind: 'remove', name, before: change.after };
    case 'change':
      return { kind: 'change', name, before: change.after, after: change.before };
    case 'remove':
      return { kind: 'add', name, after: change.before };
  }
}

/** The events of one application of a configuration. Nothing waits for their reader. */
class Events {
  readonly #events: ApplyEvent[] = [];
  #isOver = false;
  #changed = deferred();

  push(event: ApplyEvent): void {
    this.#events.push(event);
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async *read(signal: AbortSignal): AsyncGenerator<ApplyEvent, void, undefined> {
    for (let index = 0; ; index += 1) {
      while (index >= this.#events.length) {
        if (this.#isOver) return;
        await raceAbort(this.#changed.promise, signal);
      }
      yield this.#events[index]!;
    }
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = deferred();
  }
}
