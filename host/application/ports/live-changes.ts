import type { Operations } from '../../apis/http/index.ts';
import type { LogLevels } from '../../base/core/log/log-levels.ts';
import type { LogRing } from '../../base/core/log/log-ring.ts';
import { API_KEYS_CHANGED, DELIVERIES_WAITING, WEBHOOKS_CHANGED } from '../../data/storage/index.ts';
import type { KeptTraces } from '../../base/telemetry/index.ts';
import type { Services } from '../services.ts';
import type { ConfigurationChanges } from '../changes/configuration-changes.ts';

type Revisions = ReturnType<Operations['revisions']>;

export interface LiveChangesOptions {
  readonly services: Pick<Services, 'storage' | 'tasks' | 'apiKeys' | 'models' | 'pulls' | 'endpoints'>;
  readonly changes: Pick<ConfigurationChanges, 'current'>;
  readonly logs: Pick<LogRing, 'added'>;
  readonly logLevels: Pick<LogLevels, 'changes'>;
  readonly traces: Pick<KeptTraces, 'added'> | undefined;
  /** Returns how many attempts to deliver webhooks this host has made. */
  readonly deliveryAttempts: () => number;
  /** Returns how many requests this host has answered. */
  readonly requests: () => number;
  /** Whether the start is over. */
  readonly isDeployed: () => boolean;
}

/**
 * Numbers that tell whether something has changed, for pages that then ask what. The database notifies of tasks,
 * webhooks and keys, also of those that other hosts change on PostgreSQL.
 */
export class LiveChanges {
  readonly #options: LiveChangesOptions;
  readonly #stored = { tasks: 0, webhooks: 0, keys: 0 };
  #isListening = false;
  #pulls = { text: '', changes: 0 };
  #configuration: { readonly value: unknown; readonly changes: number };

  constructor(options: LiveChangesOptions) {
    this.#options = options;
    this.#configuration = { value: options.changes.current, changes: 0 };
  }

  read(): Revisions {
    const { services, logs, logLevels, traces, deliveryAttempts, requests } = this.#options;
    this.#listen();
    const { tasks, webhooks, keys } = this.#stored;
    const configuration = this.#configurationChanges();
    return {
      tasks,
      webhooks: webhooks + deliveryAttempts(),
      keys,
      models: this.#pullChanges() + services.models.removals + configuration, // which says who uses them
      requests: traces?.added ?? 0,
      logs: logs.added + logLevels.changes,
      endpoints: services.endpoints.version + requests(),
      configuration,
    };
  }

  /** Counts what the database notifies of. Nothing opens the database only for this. */
  #listen(): void {
    const { services, isDeployed } = this.#options;
    const { storage, tasks, apiKeys } = services;
    if (this.#isListening || !isDeployed() || (!tasks && !apiKeys)) return;
    this.#isListening = true;
    // The next look tries again.
    storage.listen((message) => this.#count(message)).catch(() => (this.#isListening = false));
  }

  /** An empty message says that others may have been missed. */
  #count(message: string): void {
    const isAny = message === '';
    if (isAny || message === API_KEYS_CHANGED) this.#stored.keys += 1;
    if (isAny || message === WEBHOOKS_CHANGED || message === DELIVERIES_WAITING) this.#stored.webhooks += 1;
    if (isAny || ![API_KEYS_CHANGED, WEBHOOKS_CHANGED, DELIVERIES_WAITING].includes(message)) this.#stored.tasks += 1;
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
