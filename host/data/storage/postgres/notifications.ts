import type { ClientConfig } from 'pg';
import { delay } from '../../../base/core/abort.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { Listeners } from '../listeners.ts';
import { CHANNEL } from './postgres-connection.ts';
import { clientOf, type ServerClient } from './server-pool.ts';
import type { Servers } from './servers.ts';

export interface NotificationsOptions {
  readonly servers: Servers;
  readonly client: ClientConfig;
  readonly listeners: Listeners;
  readonly connectionTimeoutMs: number;
  readonly log: Logger;
  /** Ends the subscription when it aborts. */
  readonly signal: AbortSignal;
}

const HEAR_AGAIN_MS = 1000;
/**
 * How often the server is checked, because a server that has disappeared without closing the connection sends nothing.
 */
const ASK_MS = 10_000;
/** The time for a connection to end. */
const MOST_END_MS = 1000;

/**
 * Passes notifications of transactions to the listeners. It uses a separate connection, and opens another one when that
 * is lost. Resolves when the signal has aborted.
 */
export async function hearNotifications({
  servers,
  client: config,
  listeners,
  connectionTimeoutMs,
  log,
  signal,
}: NotificationsOptions): Promise<void> {
  const ListeningClient = clientOf(servers);
  while (!signal.aborted) {
    const client = new ListeningClient({
      ...config,
      connectionTimeoutMillis: connectionTimeoutMs,
      query_timeout: connectionTimeoutMs,
    });
    try {
      const lost = new AbortController();
      client.on('error', (error) => lost.abort(error));
      client.on('end', () => lost.abort(new Error('the connection has ended')));
      client.on('notification', ({ payload = '' }) => listeners.tell(payload));
      await client.connect();
      await listen(client, servers);
      listeners.tell(''); // earlier notifications were missed
      await askUntilLost(client, servers, AbortSignal.any([lost.signal, signal]));
    } catch (error) {
      if (!signal.aborted) log.warn('notifications of PostgreSQL are not received', { error });
    } finally {
      await endSoon(client);
    }
    await delay(HEAR_AGAIN_MS, signal).catch(() => {});
  }
}

/** Subscribes to notifications. Rejects on a replica, which allows no subscriptions. */
async function listen(client: ServerClient, servers: Servers): Promise<void> {
  try {
    await client.query(`listen ${CHANNEL}`);
  } catch (error) {
    servers.leave(client.server);
    throw error;
  }
}

/** Rejects when the server no longer answers, when another server takes the writes, or when the signal aborts. */
async function askUntilLost(client: ServerClient, servers: Servers, signal: AbortSignal): Promise<never> {
  for (;;) {
    await delay(ASK_MS, signal);
    if (client.server !== servers.current) throw new Error('another server accepts the writes now');
    await client.query('select 1');
  }
}

async function endSoon(client: ServerClient): Promise<void> {
  const late = new AbortController();
  await Promise.race([client.end().catch(() => {}), delay(MOST_END_MS, late.signal).catch(() => {})]);
  late.abort();
  client.connection.stream.destroy();
}
