import type { Server } from 'node:net';
import type { Address } from '../../apis/control/index.ts';
import { childEnvironment, type Config } from '../../base/config/index.ts';
import { loadDefaults } from '../../base/config/process-defaults.ts';
import type { LogLevels } from '../../base/core/log/log-levels.ts';
import type { LogRing } from '../../base/core/log/log-ring.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { type Format, mergedText } from '../../base/telemetry/index.ts';
import type { ReloadOutcome } from '../../endpoints/plugins/set/plugin-state.ts';
import type { ConfigurationChanges } from '../changes/configuration-changes.ts';
import type { PeerNotifications } from './peer-notifications.ts';
import type { HostDrain, RunningWork } from '../start/host-drain.ts';
import { Workers } from './workers.ts';

export interface ApplicationWorkersOptions {
  readonly config: Config;
  readonly changes: Pick<ConfigurationChanges, 'current'>;
  readonly logs: LogRing;
  readonly logLevels: LogLevels;
  readonly peers: PeerNotifications;
  readonly drain: Pick<HostDrain, 'isDraining'>;
  readonly log: Logger;
}

export interface StartWorkersOptions {
  readonly server: Server;
  readonly control: Address;
  /** Folders of plugins besides those of the configuration. */
  readonly folders: readonly string[];
  readonly signal: AbortSignal;
}

/** The longest wait until the workers have a new version of a plugin, which may have to be built. */
const RELOAD_MS = 600_000;

/** The workers of a controller: what they are told of the application, and what they tell of it. */
export class ApplicationWorkers {
  readonly #options: ApplicationWorkersOptions;
  #workers: Workers | undefined;

  constructor(options: ApplicationWorkersOptions) {
    this.#options = options;
  }

  /** Starts the workers of the configuration. Rejects with the error of one that cannot start. */
  async start({ server, control, folders, signal }: StartWorkersOptions): Promise<void> {
    const { config, changes, logs, logLevels, peers, drain, log } = this.#options;
    if (config.workers === 1) return;
    const workers = new Workers({
      ...{ count: config.workers - 1, env: childEnvironment(config), log, server },
      begin: { loadDefaults: loadDefaults(), folders, control },
      settings: () => ({ config: changes.current, levels: logLevels.list(), isDraining: drain.isDraining }),
      onNotified: (message) => peers.receive(message),
      onLogged: (worker, records) => {
        for (const { level, message, fields } of records) logs.add(level, message, { ...fields, worker });
      },
    });
    this.#workers = workers;
    peers.send = (message) => workers.notify(message);
    logLevels.onChange = () => this.applySettings();
    await workers.start(signal);
  }

  /** Gives the workers the settings of now. */
  applySettings(): void {
    this.#workers?.applySettings();
  }

  /** Returns the workers that serve. */
  list(): { readonly worker: number; readonly pid: number }[] {
    return [...(this.#workers?.pids() ?? [])].map(([worker, pid]) => ({ worker, pid }));
  }

  /** Returns what runs in the workers. One that is too busy to answer counts as one with a request. */
  async running(): Promise<readonly RunningWork[]> {
    if (!this.#workers) return [];
    const answers = await this.#workers.ask('running', {});
    const silent = Math.max(0, this.#workers.pids().size - answers.size);
    return [...answers.values(), { requests: silent, tasks: 0 }];
  }

  /** Returns the metrics of this process together with those of its workers. */
  async metrics(own: string, format: Format): Promise<string> {
    if (!this.#workers) return own;
    const parts = new Map([[0, own]]);
    for (const [worker, text] of await this.#workers.ask('metrics', { format }))
      if (text !== undefined) parts.set(worker, text);
    return mergedText(parts, format);
  }

  /**
   * Lets the workers load what this process has loaded, as `own` says. Returns the outcomes, in which a plugin has
   * failed if it has in one of the processes.
   */
  async reload(name: string | undefined, own: readonly ReloadOutcome[]): Promise<readonly ReloadOutcome[]> {
    if (!this.#workers || own.every(({ outcome }) => outcome === 'failed' || outcome === 'skipped')) return own;
    const outcomes = new Map(own.map((one) => [one.name, one]));
    for (const [worker, theirs] of await this.#workers.ask('reload', { name }, RELOAD_MS))
      for (const one of theirs)
        if (one.outcome === 'failed' && outcomes.get(one.name)?.outcome !== 'failed')
          outcomes.set(one.name, { ...one, detail: `worker ${worker}: ${one.detail}` });
    return [...outcomes.values()];
  }

  /** Lets the workers finish their requests for `graceMs`, and ends them. */
  async stop(graceMs: number): Promise<void> {
    await this.#workers?.stop(graceMs);
  }
}
