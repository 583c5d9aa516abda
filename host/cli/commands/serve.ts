import { statSync } from 'node:fs';
import { AanaApp } from '../../application/app.ts';
import { addressToListenOn, type ConnectOptions, type DeployOptions } from '../../application/app-options.ts';
import { loadApp } from '../../application/module/load-app.ts';
import { setController } from '../../application/workers/link.ts';
import type { Config } from '../../base/config/index.ts';
import { fail } from '../../base/core/errors.ts';

/** The command `serve`. Serves the application, deployments and plugins of the configuration until a signal. */
export async function serve(config: Config, folders: readonly string[]): Promise<number> {
  for (const path of config.media.allow_paths) {
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
      throw fail('ConfigError', `media.allow_paths: there is no folder ${path}`);
  }
  setController(folders);
  const app = config.app === null ? new AanaApp({ config }) : (await loadApp(config.app, '.')).app;
  requireOneProcess(config);
  app.configure(config).registerPlugins(...folders);
  if (config.app !== null) await app.migrate();
  return run(app, addressToListenOn({}, config));
}

/** Refuses what only works in one process. */
function requireOneProcess({ workers, watch, listen, openai }: Config): void {
  const [key, why] = watch
    ? ['watch', 'a changed plugin is reloaded in one process']
    : listen !== null
      ? ['listen', 'processes can share a port, but not a Unix socket']
      : openai.on_demand.models.length > 0
        ? ['openai.on_demand.models', 'one process counts the requests of a model that it has started']
        : [];
  if (workers > 1 && key !== undefined)
    throw fail('ConfigError', `${key} cannot be used with ${workers} workers: ${why}; set workers to 1`);
}

/** Opens the dashboard. The application also serves without it. */
async function openDashboard(app: AanaApp): Promise<void> {
  await app.openDashboard().catch((error: Error) => process.stderr.write(`no dashboard: ${error.message}\n`));
}

/** Serves an application until a signal. Returns 130 when the signal came during the start. */
export async function run(app: AanaApp, connect: ConnectOptions, deploy: DeployOptions = {}): Promise<number> {
  const ignore = (): void => {};
  process.on('SIGHUP', ignore); // a reload may be requested after it listens and before it handles signals
  try {
    await app.listen(connect);
    if (app.config.dashboard.enabled) await openDashboard(app);
    await app.deploy({ ...deploy, blocking: true });
    return 0;
  } catch (error) {
    if (error instanceof Error && error.name === 'ShuttingDown') return 130;
    throw error;
  } finally {
    process.off('SIGHUP', ignore);
  }
}
