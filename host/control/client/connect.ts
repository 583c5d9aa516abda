import { loadConfig } from '../../config/index.ts';
import { chooseServer, ControlConnection } from '../index.ts';
import { formatRecord } from '../../core/log/logger.ts';
import { type RunningApplication, runningApplication } from './running-application.ts';

export interface AttachOptions {
  /** Which application, where several run. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** Whether the lines that it logs from now on are written to this process's standard error. Default false. */
  readonly show_logs?: boolean | undefined;
  /** Where its address is looked for. Default: as `loadConfig()` finds it. */
  readonly runtime_dir?: string | undefined;
}

/**
 * Attaches to this user's running application. Throws `NotRunning` when there is none and `SeveralRunning` with their
 * addresses when `port` must say which. The process may end without `close`: nothing waits for the connection alone.
 */
export async function connect({
  host,
  port,
  show_logs: showLogs = false,
  runtime_dir: dir = loadConfig().runtime_dir,
}: AttachOptions = {}): Promise<RunningApplication> {
  const connection = await ControlConnection.open(await chooseServer(dir, { host, port }));
  if (showLogs) copyLogs(connection, process.stderr).catch(() => {}); // the end of the connection is told to those who call
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
