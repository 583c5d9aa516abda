import { loadApp } from '../application/load-app.ts';
import type { BuildOptions } from '../application/build-config.ts';
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
export async function deploy(path: string, { host, port, hideLogs, skipMigrations, sequential }: DeployCommand): Promise<number> {
  const { app } = await loadApp(path, process.cwd());
  if (!skipMigrations) await app.migrate();
  return run(app, { host: host ?? app.config.host, port: port ?? app.config.port, show_logs: !hideLogs }, { sequential });
}

/** `migrate`: an application's tables. */
export async function migrate(path: string): Promise<void> {
  const { app } = await loadApp(path, process.cwd());
  await app.migrate();
  await app.shutdown({ graceMs: 0 });
}

/** `build <module>:<app>`: the configuration file that `serve` makes the application of. */
export async function buildApp(path: string, options: BuildOptions, out: { write(text: string): unknown }): Promise<void> {
  const { app } = await loadApp(path, process.cwd());
  out.write(`${await app.build(path, options)}\n`);
}
