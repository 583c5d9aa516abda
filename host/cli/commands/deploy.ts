import { AanaApp } from '../../application/app.ts';
import type { Config } from '../../config/index.ts';
import type { Logger } from '../../core/log/logger.ts';
import { withProgress } from '../../packages/index.ts';
import { loadApp } from '../../application/module/load-app.ts';
import { addressToListenOn } from '../../application/app-options.ts';
import type { BuildOptions } from '../../application/module/build-config.ts';
import { run } from './serve.ts';

export interface DeployCommand {
  /** Default: what the application's configuration says. */
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly hideLogs: boolean;
  readonly skipMigrations: boolean;
  readonly sequential: boolean;
}

/** `deploy`: an application of the user's, until a signal. Tables are there before it is reachable. */
export async function deploy(
  path: string,
  { host, port, hideLogs, skipMigrations, sequential }: DeployCommand,
): Promise<number> {
  const { app } = await loadApp(path, process.cwd());
  if (!skipMigrations) await app.migrate();
  return run(app, { ...addressToListenOn({ host, port }, app.config), show_logs: !hideLogs }, { sequential });
}

/** `migrate`: the tables of the host, and those of an application where one is named. */
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

/** `build <module>:<app>`: the configuration file that `serve` makes the application of. */
export async function buildApp(
  path: string,
  options: BuildOptions,
  out: { write(text: string): unknown },
): Promise<void> {
  const { app } = await loadApp(path, process.cwd());
  out.write(`${await app.build(path, options)}\n`);
}
