import { closeSync, openSync } from 'node:fs';
import type { AanaApp } from '../app.ts';
import { delay } from '../../base/core/abort.ts';
import { takeServiceManager } from '../../base/config/index.ts';
import { createLogger, type Logger } from '../../base/core/log/logger.ts';
import { socketPath } from '../../apis/http/index.ts';
import { curlLine, ownFiles } from './curl-line.ts';
import { ServiceManager } from './service-manager.ts';
import { stopOnSignals } from './signals.ts';

/** Time for which a ready server waits for the sample that its curl line names. */
const SAMPLE_WAIT_MS = 5000;

export interface RunBlockingOptions {
  readonly log: Logger;
  /** Whether log lines already report the deployment. */
  readonly isLogged: boolean;
  /** Whether plugins read media, so that the example request can have a file. */
  readonly usesMedia: Promise<boolean>;
  /** Aborts when the application begins to stop. */
  readonly stopping: AbortSignal;
  readonly out: { write(text: string): unknown };
}

/**
 * Starts an application with `start`, prints its address, and waits for its end. SIGINT and SIGTERM end it. On SIGHUP
 * the application reloads its certificate and its plugins. A service manager is told about the start and the end.
 */
export async function runBlocking(
  app: AanaApp,
  start: () => Promise<void>,
  options: RunBlockingOptions,
): Promise<void> {
  const { log } = options;
  let isStarted = false;
  const onHangUp = (): void => {
    if (isTerminalGone()) return void app.shutdown();
    void app.reloadCertificate();
    if (!isStarted) log.info('plugins are not reloaded, because they are still being loaded');
    else void app.reloadPlugins().catch((error: unknown) => log.warn('plugins not reloaded', { error }));
  };
  const release = stopOnSignals(app);
  const manager = new ServiceManager({ log, address: takeServiceManager() });
  options.stopping.addEventListener('abort', () => manager.stopping(), { once: true });
  const stopping = new AbortController();
  void app.stopped.then(() => stopping.abort());
  try {
    manager.starting();
    process.on('SIGHUP', onHangUp);
    const sample = options.usesMedia
      .then((isUsed) => (isUsed ? app.models.pullTool('speech-sample', { signal: stopping.signal }) : undefined))
      .catch(() => undefined);
    // Fetched early, so that the page `/redoc` needs no network later.
    app.models
      .pullTool('redoc', { signal: stopping.signal })
      .catch((error: unknown) => log.debug('no /redoc', { reason: String(error) }));
    await start();
    isStarted = true;
    manager.ready();
    await announce(app, sample, stopping.signal, options);
    await app.stopped;
  } finally {
    process.off('SIGHUP', onHangUp);
    stopping.abort();
    release();
    await manager.close();
  }
}

async function announce(
  app: AanaApp,
  sample: Promise<string | undefined>,
  signal: AbortSignal,
  { isLogged, out }: RunBlockingOptions,
): Promise<void> {
  const { url, dashboardUrl, endpoints, config } = app;
  if (config.log.format === 'json') {
    // Not a line of the log, which admins can read, because the address of the dashboard has its token.
    const fields = {
      ...(url !== undefined && { url }),
      ...(dashboardUrl !== undefined && { dashboard: dashboardUrl }),
    };
    createLogger({ level: 'info', format: 'json', write: (line) => out.write(line) }).info('serving', fields);
    return;
  }
  if (!isLogged) out.write('Deployed successfully.\n');
  if (url === undefined) return;
  const there = await Promise.race([sample, delay(SAMPLE_WAIT_MS, signal).catch(() => {})]);
  out.write(socketPath(url) === undefined ? `API documentation: ${url}/docs\n` : `Listening on ${url}\n`);
  const asksForKey = config.api_service.enabled;
  if (dashboardUrl !== undefined) out.write(`Dashboard: ${dashboardUrl}\n`);
  const deployments = new Set(Object.keys(app.status().deployments));
  const line = curlLine(endpoints, { url, cert: config.tls.cert, asksForKey, deployments }, there ?? undefined);
  if (line && asksForKey)
    out.write('Requests need an API key. Create one: export AANA_API_KEY=$(aana-host keys create --user me)\n');
  if (!line) return;
  const [own] = Object.entries(ownFiles).find(([, file]) => line.includes(`=@${file}`)) ?? [];
  out.write(`Try it${own === undefined ? '' : ` with your own ${own}`}:\n  ${line}\n`);
}

/** Returns whether the terminal was closed, which sends SIGHUP like a request to reload. */
function isTerminalGone(): boolean {
  if (!process.stdin.isTTY) return false;
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return false;
  } catch {
    return true;
  }
}
