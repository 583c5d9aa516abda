import type { Membership } from '../../../base/certificates/index.ts';
import { loadConfig } from '../../../base/config/index.ts';
import { chooseServer, ControlConnection, OperatorClient } from '../index.ts';
import { fail } from '../../../base/core/errors.ts';
import { formatRecord, silentLogger } from '../../../base/core/log/logger.ts';
import { memberAddress } from './member-address.ts';
import { routedDeployments } from './routed-application.ts';
import { type RunningApplication, runningApplication } from './running-application.ts';

export interface AttachOptions {
  /** Address of the application, if several run. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /**
   * The `cluster.listen` of an application on another machine, such as `10.0.0.5:8700`. The certificate is that of
   * `cluster` in `loadConfig()`.
   */
  readonly address?: string | undefined;
  /** Whether new log lines of the application are copied to this process's standard error. Default: false. */
  readonly show_logs?: boolean | undefined;
  /** Folder of address files. Default: that of `loadConfig()`. */
  readonly runtime_dir?: string | undefined;
}

/**
 * Attaches to this user's running application, or to one on another machine of the cluster. Throws `NotRunning` when
 * there is none, and `SeveralRunning` with the addresses when `host` or `port` must select one;
 * `MembershipRefused` when the other machine refuses this one. The process may end without `close`, because the
 * connection alone does not keep it running.
 */
export async function connect({
  host,
  port,
  address: remote,
  show_logs: showLogs = false,
  runtime_dir: dir,
}: AttachOptions = {}): Promise<RunningApplication> {
  if (remote !== undefined && (host ?? port ?? dir) !== undefined)
    throw fail('InvalidInput', 'give address, or host, port and runtime_dir of an application of this machine');
  const address =
    remote === undefined
      ? await chooseServer(dir ?? loadConfig().runtime_dir, { host, port })
      : await memberAddress(remote, loadConfig().cluster, silentLogger);
  const [connection, operator] = await Promise.all([ControlConnection.open(address), OperatorClient.at(address)]);
  const membership = 'membership' in address ? address.membership : undefined;
  if (membership) followRenewals(membership, connection);
  const application = runningApplication(connection, operator, await routedDeployments(connection, membership));
  if (showLogs) copyLogs(operator, process.stderr).catch(() => {}); // calls report the end of the connection
  return application;
}

/** Uses renewed files of a certificate while the connection lasts. */
function followRenewals({ certificate }: Membership, { closed }: ControlConnection): void {
  certificate.watch(() => {});
  void closed.then(() => certificate.close());
}

async function copyLogs(operator: OperatorClient, to: { write(text: string): unknown }): Promise<void> {
  const records = operator.events('get /api/logs/events', {}, { holdsProcess: false });
  for await (const record of records) to.write(formatRecord(record, 'text'));
}
