import { loadConfig } from '../../config/index.ts';
import { chooseServer, ControlConnection } from '../index.ts';
import { formatRecord } from '../../core/log/logger.ts';
import { type RunningApplication, runningApplication } from './running-application.ts';

export interface AttachOptions {
  /** Address of the application, if several run. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** Whether new log lines of the application are copied to this process's standard error. Default: false. */
  readonly show_logs?: boolean | undefined;
  /** Folder of address files. Default: that of `loadConfig()`. */
  readonly runtime_dir?: string | undefined;
}

/**
 * Attaches to this user's running application. Throws `NotRunning` when there is none, and `SeveralRunning` with the
 * addresses when `host` or `port` must select one. The process may end without `close`, because the connection alone
 * does not keep it running.
 */
export async function connect({
  host,
  port,
  show_logs: showLogs = false,
  runtime_dir: dir = loadConfig().runtime_dir,
}: AttachOptions = {}): Promise<RunningApplication> {
  const connection = await ControlConnection.open(await chooseServer(dir, { host, port }));
  if (showLogs) copyLogs(connection, process.stderr).catch(() => {}); // calls report the end of the connection
  return runningApplication(connection);
}

async function copyLogs(connection: ControlConnection, to: { write(text: string): unknown }): Promise<void> {
  for await (const batch of connection.stream(
    'application.logs',
    { lines: 0, follow: true },
    { holdsProcess: false },
  )) {
    for (const record of batch) to.write(formatRecord(record, 'text'));
  }
}
