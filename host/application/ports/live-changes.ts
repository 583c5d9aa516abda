import type { Operations } from '../../http/index.ts';
import type { LogRing } from '../../core/log/log-ring.ts';
import type { KeptTraces } from '../../telemetry/index.ts';
import type { Services } from '../services.ts';
import type { ConfigurationChanges } from '../changes/configuration-changes.ts';

type Revisions = ReturnType<Operations['revisions']>;

export interface LiveChangesOptions {
  readonly services: Pick<Services, 'storage' | 'tasks' | 'apiKeys' | 'pulls' | 'endpoints'>;
  readonly changes: Pick<ConfigurationChanges, 'current'>;
  readonly logs: Pick<LogRing, 'added'>;
  readonly traces: Pick<KeptTraces, 'added'> | undefined;
  /** Returns how many attempts to deliver webhooks this host has made. */
  readonly deliveryAttempts: () => number;
  /** Returns how many requests this host has answered. */
  readonly requests: () => number;
  /** Whether the start is over. */
  readonly isDeployed: () => boolean;
}

/**
 * Numbers that tell whether something has changed, for pages that then ask what. The database notifies of tasks, also
 * of those of other hosts on PostgreSQL.
 */
export class LiveChanges {
  readonly #options: LiveChangesOptions;
  #stored = 0;
  #isListening = false;
  #pulls = { text: '', changes: 0 };
  #configuration: { readonly value: unknown; readonly changes: number };

  constructor(options: LiveChangesOptions) {
    this.#options = options;
    this.#configuration = { value: options.changes.current, changes: 0 };
  }

  read(): Revisions {
    const { services, logs, traces, deliveryAttempts, requests } = this.#options;
    this.#listen();
    const stored = this.#stored;
    return {
      tasks: stored,
      webhooks: stored + deliveryAttempts(),
      keys: stored,
      models: this.#pullChanges(),
      requests: traces?.added ?? 0,
      logs: logs.added,
      endpoints: services.endpoints.version + requests(),
      configuration: this.#configurationChanges(),
    };
  }

  /** Counts what the database notifies of. Nothing opens the database only for this. */
  #listen(): void {
    const { services, isDeployed } = this.#options;
    const { storage, tasks, apiKeys } = services;
    if (this.#isListening || !isDeployed() || (!tasks && !apiKeys)) return;
    this.#isListening = true;
    storage.listen(() => (this.#stored += 1)).catch(() => (this.#isListening = false)); // the next look tries again
  }

  #pullChanges(): number {
    const text = JSON.stringify([...this.#options.services.pulls.states()]);
    if (text !== this.#pulls.text) this.#pulls = { text, changes: this.#pulls.changes + 1 };
    return this.#pulls.changes;
  }

  #configurationChanges(): number {
    const value = this.#options.changes.current;
    const { value: before, changes } = this.#configuration;
    if (value !== before) this.#configuration = { value, changes: changes + 1 };
    return this.#configuration.changes;
  }
}
