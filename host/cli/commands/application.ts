import { callControl, chooseServer, ControlConnection, type ApplicationReport } from '../../control/index.ts';
import { delay } from '../../core/abort.ts';
import { AanaError } from '../../core/errors.ts';
import type { LogArea, LogLevelChange } from '../../core/log/log-levels.ts';
import { formatRecord, type LogLevel } from '../../core/log/logger.ts';
import { deploymentsText, statusText } from './status-text.ts';

export interface ApplicationCommand {
  /** Folder of the application's control socket. */
  readonly runtimeDir: string;
  readonly port: number | undefined;
  /** `unix:/path` of the server's socket. */
  readonly host?: string | undefined;
  readonly out: { write(text: string): unknown };
}

/** The command `status`. Returns 0 when the application is running, and 1 when it is starting or unhealthy. */
export async function applicationStatus(
  { runtimeDir, host, port, out }: ApplicationCommand,
  asJson: boolean,
): Promise<number> {
  const report: ApplicationReport = await callControl(runtimeDir, 'application.status', {}, { host, port });
  out.write(asJson ? `${JSON.stringify(report, undefined, 2)}\n` : statusText(report));
  return report.status === 'RUNNING' ? 0 : 1;
}

/** The command `dashboard`. Prints the address that opens the dashboard. Returns 1 if there is none. */
export async function applicationDashboard({ runtimeDir, host, port, out }: ApplicationCommand): Promise<number> {
  const { url } = await callControl(runtimeDir, 'application.dashboard', {}, { host, port });
  out.write(url === null ? 'the application has no dashboard: start it without --no-dashboard\n' : `${url}\n`);
  return url === null ? 1 : 0;
}

/** The command `scale`. Sets the number of replicas of a deployment. */
export async function scaleDeployment(
  { runtimeDir, host, port, out }: ApplicationCommand,
  deployment: string,
  replicas: number,
): Promise<number> {
  await callControl(runtimeDir, 'deployments.scale', { deployment, replicas }, { host, port });
  out.write(`${deployment} has ${replicas} ${replicas === 1 ? 'replica' : 'replicas'}\n`);
  return 0;
}

/** The command `deployments`. Prints a line for each deployment. */
export async function listDeployments(
  { runtimeDir, host, port, out }: ApplicationCommand,
  asJson: boolean,
): Promise<number> {
  await using connection = await ControlConnection.open(await chooseServer(runtimeDir, { host, port }));
  const { deployments } = await connection.call('application.status', {});
  const described = await connection.call('deployments.describe', {});
  const rows = deployments.map(({ name, status, message, queued, replicas }) => {
    const type = described.find((one) => one.name === name)?.type ?? '';
    return { name, type, status, message, queued, replicas: replicas.length };
  });
  out.write(asJson ? `${JSON.stringify(rows, undefined, 2)}\n` : deploymentsText(rows));
  return 0;
}

/** The command `deployments load`. Starts a deployment, and waits until it serves. */
export async function loadDeployment(
  { runtimeDir, host, port, out }: ApplicationCommand,
  deployment: string,
): Promise<number> {
  await callControl(runtimeDir, 'deployments.load', { deployment }, { host, port });
  out.write(`${deployment} is loaded\n`);
  return 0;
}

/** The command `deployments unload`. Ends the replicas of a deployment when their calls have finished. */
export async function unloadDeployment(
  { runtimeDir, host, port, out }: ApplicationCommand,
  deployment: string,
  graceS: number | undefined,
): Promise<number> {
  const grace = graceS === undefined ? {} : { grace_s: graceS };
  await callControl(runtimeDir, 'deployments.unload', { deployment, ...grace }, { host, port });
  out.write(`${deployment} is unloaded; "aana-host deployments load ${deployment}" starts it again\n`);
  return 0;
}

export interface LogsOptions {
  readonly lines: number;
  readonly follow: boolean;
  readonly deployment: string | undefined;
  readonly replica?: string | undefined;
  readonly level?: LogLevel | undefined;
  readonly area?: LogArea | undefined;
  readonly format: 'text' | 'json';
}

/**
 * The command `logs`. Prints the latest lines, and with `follow` also new ones until the application or the command
 * ends.
 */
export async function applicationLogs(
  { runtimeDir, host, port, out }: ApplicationCommand,
  { format, ...args }: LogsOptions,
  signal: AbortSignal,
): Promise<number> {
  await using connection = await ControlConnection.open(await chooseServer(runtimeDir, { host, port }));
  try {
    for await (const batch of connection.stream('application.logs', args, { signal }))
      out.write(batch.map((record) => formatRecord(record, format)).join(''));
  } catch (error) {
    const isOver = args.follow && (signal.aborted || (error instanceof AanaError && error.name === 'ConnectionLost'));
    if (!isOver) throw error;
  }
  return 0;
}

/** The command `log-levels`. Changes levels, and prints those from now on. */
export async function applicationLogLevels(
  { runtimeDir, host, port, out }: ApplicationCommand,
  change: LogLevelChange,
): Promise<number> {
  const { level, levels } = await callControl(runtimeDir, 'application.log-levels', change, { host, port });
  out.write(
    [level, ...Object.entries(levels).map(([area, own]) => `${area}=${own}`)].map((line) => `${line}\n`).join(''),
  );
  return 0;
}

/** The command `stop`. Shuts the application down and waits for its end. */
export async function stopApplication(
  { runtimeDir, host, port, out }: ApplicationCommand,
  graceS: number | undefined,
): Promise<number> {
  await using connection = await ControlConnection.open(await chooseServer(runtimeDir, { host, port }));
  await connection.call('application.stop', graceS === undefined ? {} : { grace_s: graceS });
  await connection.waitForEnd();
  await processEnd(connection.address.pid);
  out.write(`the application at ${connection.address.url} has stopped\n`);
  return 0;
}

/** Time to wait for the end of the process. A process that embeds the application may keep running. */
const PROCESS_END_MS = 3000;

async function processEnd(pid: number): Promise<void> {
  const until = performance.now() + PROCESS_END_MS;
  while (isAlive(pid) && performance.now() < until) await delay(20);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
