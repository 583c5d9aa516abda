import { AanaApp } from '../../application/app.ts';
import type { Config } from '../../base/config/index.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { withProgress } from '../../setup/packages/index.ts';
import { loadApp } from '../../application/module/load-app.ts';
import { addressToListenOn } from '../../application/app-options.ts';
import type { BuildOptions } from '../../application/module/build-config.ts';
import { run } from './serve.ts';

export interface DeployCommand {
  /** Address to listen on. Default: that of the application's configuration. */
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly hideLogs: boolean;
  readonly skipMigrations: boolean;
  readonly sequential: boolean;
}

/** The command `deploy`. Serves an application until a signal. Its tables are updated before it is reachable. */
export async function deploy(
  path: string,
  { host, port, hideLogs, skipMigrations, sequential }: DeployCommand,
): Promise<number> {
  const { app } = await loadApp(path, process.cwd());
  if (!skipMigrations) await app.migrate();
  return run(app, { ...addressToListenOn({ host, port }, app.config), show_logs: !hideLogs }, { sequential });
}

/** The command `migrate`. Updates the tables of the host, and those of an application if one is named. */
export async function migrate(
  path: string | undefined,
  {
    config,
    log,
    out,
  }: { readonly config: Config; readonly log: Logger; readonly out: { write(text: string): unknown } },
): Promise<void> {
  const app = path === undefined ? new AanaApp({ config, log }) : (await loadApp(path, process.cwd())).app;
  try {
    const applied = await withProgress('preparing the database', undefined, () => app.storage.migrate());
    await app.migrate();
    for (const { scope, number, name } of applied) out.write(`applied ${scope} ${number} ${name}\n`);
    if (applied.length === 0) out.write('the database is up to date\n');
  } finally {
    await app.shutdown({ graceMs: 0 });
  }
}

/** The command `build <module>:<app>`. Writes a configuration file with which `serve` serves the application. */
export async function buildApp(
  path: string,
  options: BuildOptions,
  out: { write(text: string): unknown },
): Promise<void> {
  const { app } = await loadApp(path, process.cwd());
  out.write(`${await app.build(path, options)}\n`);
}
