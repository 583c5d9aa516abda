import { stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import {
  type AlertFacts,
  Alerts,
  type DiskFacts,
  rulesOf,
  SlowFact,
  type WebhookFacts,
} from '../../base/alerts/index.ts';
import type { Config } from '../../base/config/index.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Telemetry } from '../../base/core/telemetry.ts';
import type { Services } from '../services.ts';

export interface AppAlertsOptions {
  readonly config: Config;
  readonly services: Services;
  /** Returns how many requests were answered since the start. Undefined without metrics. */
  readonly requests: (() => NonNullable<AlertFacts['requests']>) | undefined;
  /** Returns the certificate of the server. */
  readonly certificate: () => AlertFacts['certificate'];
  readonly log: Logger;
  readonly telemetry: Telemetry;
}

/** The disks and the webhooks are read less often than the rules are looked at: once in so many looks. */
const LOOKS_FOR_DISKS = 2;
const LOOKS_FOR_WEBHOOKS = 6;
/** Most disabled webhooks that are looked at. */
const MOST_WEBHOOKS = 100;

/** Returns the alerts of an application. They look at nothing before `start`. */
export function appAlerts({ config, services, requests, certificate, log, telemetry }: AppAlertsOptions): Alerts {
  const { pluginSet, webhooks, apiKeys } = services;
  const intervalMs = config.alerts.interval_s * 1000;
  const folders = [...new Set([config.data_dir, config.media.temp_dir ?? tmpdir()].map((folder) => resolve(folder)))];
  const disks = new SlowFact(() => readDisks(folders), intervalMs * LOOKS_FOR_DISKS);
  const disabled = webhooks && new SlowFact(() => readDisabled(services), intervalMs * LOOKS_FOR_WEBHOOKS);
  return new Alerts({
    rules: config.alerts.enabled ? rulesOf(config.alerts.rules) : [],
    intervalMs,
    facts: () => ({
      deployments: deploymentFacts(services.manager),
      plugins: pluginSet.list().map(({ name, state, error, counters, limits }) => ({
        name,
        error: state === 'not_granted' ? null : error,
        queued: counters.queued,
        maxQueued: limits?.queue,
      })),
      requests: requests?.(),
      disks: disks.get(),
      disabledWebhooks: disabled ? disabled.get() : [],
      certificate: certificate(),
    }),
    announce: async (event, alert) => {
      if (!webhooks || !(await services.canOpenStorage())) return;
      await webhooks.announce({
        event,
        alert_id: alert.id,
        payload: JSON.stringify(alert),
        has_keys: apiKeys !== undefined,
      });
    },
    log,
    telemetry,
  });
}

function deploymentFacts(deployments: Services['manager']): AlertFacts['deployments'] {
  const registered = deployments.registered();
  return Object.entries(deployments.status()).map(([name, { status, message, queued, replicas }]) => ({
    name,
    status,
    message,
    queued,
    ready: replicas.filter(({ state }) => state === 'ready').length,
    maxQueued: registered.get(name)?.options.max_queued_requests ?? 0,
  }));
}

/** Returns the disks of the folders, each once. */
async function readDisks(folders: readonly string[]): Promise<readonly DiskFacts[]> {
  const disks = new Map<number, DiskFacts>();
  for (const path of folders) {
    try {
      const { dev } = await stat(path);
      const { blocks, bfree, bavail, bsize } = await statfs(path);
      const usable = blocks - bfree + bavail; // without what is reserved for root, as df counts
      if (disks.has(dev) || usable <= 0) continue;
      disks.set(dev, { path, used: 1 - bavail / usable, freeBytes: bavail * bsize });
    } catch {
      // A folder that does not exist yet has no disk.
    }
  }
  return [...disks.values()];
}

async function readDisabled(services: Services): Promise<readonly WebhookFacts[]> {
  const { webhooks } = services;
  if (!webhooks || !(await services.canOpenStorage())) return []; // a look does not compile SQLite
  const found = await webhooks.listFailing(MOST_WEBHOOKS);
  return found.map(({ id, url, disabled_at: disabledAt, disabled_reason: reason }) => ({
    id,
    target: new URL(url).origin,
    disabledAt: disabledAt ?? 0,
    reason: reason ?? '',
  }));
}
