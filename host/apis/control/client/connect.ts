import { loadConfig } from '../../../base/config/index.ts';
import { chooseServer, ControlConnection, OperatorClient } from '../index.ts';
import { formatRecord } from '../../../base/core/log/logger.ts';
import { routedDeployments } from './routed-application.ts';
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
  const address = await chooseServer(dir, { host, port });
  const [connection, operator] = await Promise.all([ControlConnection.open(address), OperatorClient.at(address)]);
  const application = runningApplication(connection, operator, await routedDeployments(connection));
  if (showLogs) copyLogs(operator, process.stderr).catch(() => {}); // calls report the end of the connection
  return application;
}

async function copyLogs(operator: OperatorClient, to: { write(text: string): unknown }): Promise<void> {
  const records = operator.events('get /api/logs/events', {}, { holdsProcess: false });
  for await (const record of records) to.write(formatRecord(record, 'text'));
}
