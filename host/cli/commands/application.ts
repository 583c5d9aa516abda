import {
  askOperator,
  chooseServer,
  ControlConnection,
  type LocalApplication,
  type OperatedServer,
  OperatorClient,
  readLogs,
} from '../../apis/control/index.ts';
import { delay } from '../../base/core/abort.ts';
import { AanaError } from '../../base/core/errors.ts';
import type { LogArea, LogLevelChange } from '../../base/core/log/log-levels.ts';
import { formatRecord, type LogLevel } from '../../base/core/log/logger.ts';
import { deploymentsText, drainingText, historyText, statusText } from './status-text.ts';

interface Output {
  readonly out: { write(text: string): unknown };
}

/** A command for an application, here or on another machine. */
export type ApplicationCommand = OperatedServer & Output;

/** Changes of deployments that `status` shows. */
const SHOWN_CHANGES = 3;

/** The command `status`. Returns 0 when the application is running, and 1 when it is starting or unhealthy. */
export async function applicationStatus({ out, ...at }: ApplicationCommand, asJson: boolean): Promise<number> {
  const operator = await OperatorClient.open(at);
  const { application: report } = await operator.ask('get /api/application', {});
  if (asJson) out.write(`${JSON.stringify(report, undefined, 2)}\n`);
  else {
    // While the database is away, the rest is told.
    const read = operator.ask('get /api/deployments/changes', { query: { limit: SHOWN_CHANGES } });
    out.write(statusText(report, await read.catch((error: Error) => error.message)));
  }
  return report.status === 'RUNNING' ? 0 : 1;
}

/** The command `dashboard`. Prints the address that opens the dashboard. Returns 1 if there is none. */
export async function applicationDashboard({ out, ...at }: LocalApplication & Output): Promise<number> {
  const { url } = await askOperator(at, 'get /api/dashboard', {});
  out.write(url === null ? 'the application has no dashboard: start it without --no-dashboard\n' : `${url}\n`);
  return url === null ? 1 : 0;
}

/** The command `scale`. Sets the number of replicas of a deployment. */
export async function scaleDeployment(
  { out, ...at }: ApplicationCommand,
  deployment: string,
  replicas: number,
): Promise<number> {
  await askOperator(at, 'put /api/deployments/{deployment}/replicas', { params: { deployment }, body: { replicas } });
  out.write(`${deployment} has ${replicas} ${replicas === 1 ? 'replica' : 'replicas'}\n`);
  return 0;
}

/** The command `deployments`. Prints a line for each deployment. */
export async function listDeployments({ out, ...at }: ApplicationCommand, asJson: boolean): Promise<number> {
  const operator = await OperatorClient.open(at);
  const { application } = await operator.ask('get /api/application', {});
  const { deployments: described } = await operator.ask('get /api/deployments', {});
  const rows = application.deployments.map(({ name, status, message, queued, replicas }) => {
    const type = described.find((one) => one.name === name)?.type ?? '';
    return { name, type, status, message, queued, replicas: replicas.length };
  });
  out.write(asJson ? `${JSON.stringify(rows, undefined, 2)}\n` : deploymentsText(rows));
  return 0;
}

/** The command `deployments history`. Prints the changes that operators made, the newest first. */
export async function deploymentHistory(
  { out, ...at }: ApplicationCommand,
  query: { readonly deployment?: string | undefined; readonly limit: number },
  asJson: boolean,
): Promise<number> {
  const history = await askOperator(at, 'get /api/deployments/changes', { query });
  out.write(asJson ? `${JSON.stringify(history, undefined, 2)}\n` : historyText(history));
  return 0;
}

/** The command `deployments load`. Starts a deployment, and waits until it serves. */
export async function loadDeployment({ out, ...at }: ApplicationCommand, deployment: string): Promise<number> {
  await askOperator(at, 'post /api/deployments/{deployment}/load', { params: { deployment } });
  out.write(`${deployment} is loaded\n`);
  return 0;
}

/** The command `deployments unload`. Ends the replicas of a deployment when their calls have finished. */
export async function unloadDeployment(
  { out, ...at }: ApplicationCommand,
  deployment: string,
  graceS: number | undefined,
): Promise<number> {
  const given = { params: { deployment }, query: { grace_s: graceS } };
  await askOperator(at, 'post /api/deployments/{deployment}/unload', given);
  out.write(`${deployment} is unloaded; "aana-host deployments load ${deployment}" starts it again\n`);
  return 0;
}

export interface LogsOptions {
  readonly lines: number;
  readonly follow: boolean;
  readonly deployment: string | undefined;
  readonly replica?: string | undefined;
  readonly worker?: number | undefined;
  readonly level?: LogLevel | undefined;
  readonly area?: LogArea | undefined;
  readonly format: 'text' | 'json';
}

/**
 * The command `logs`. Prints the latest lines, and with `follow` also new ones until the application or the command
 * ends.
 */
export async function applicationLogs(
  { out, ...at }: ApplicationCommand,
  { format, ...args }: LogsOptions,
  signal: AbortSignal,
): Promise<number> {
  const operator = await OperatorClient.open(at);
  try {
    for await (const record of readLogs(operator, args, signal)) out.write(formatRecord(record, format));
  } catch (error) {
    const hasEnded = !('url' in at) && error instanceof AanaError && error.name === 'ConnectionLost';
    const isOver = args.follow && (signal.aborted || hasEnded);
    if (!isOver) throw error;
  }
  return 0;
}

/** The command `log-levels`. Changes levels, and prints those from now on. */
export async function applicationLogLevels(
  { out, ...at }: ApplicationCommand,
  change: LogLevelChange,
): Promise<number> {
  const { level, levels } = await askOperator(at, 'put /api/logs/levels', { body: change });
  out.write(
    [level, ...Object.entries(levels).map(([area, own]) => `${area}=${own}`)].map((line) => `${line}\n`).join(''),
  );
  return 0;
}

/** Time between two looks at what still runs. */
const LOOK_EVERY_MS = 500;

/**
 * The command `drain`. Begins the drain and waits until nothing runs, or takes the drain back. The application goes on
 * draining when the command is ended before.
 */
export async function drainApplication(
  { out, ...at }: ApplicationCommand,
  isUndone: boolean,
  signal: AbortSignal,
): Promise<number> {
  const operator = await OperatorClient.open(at);
  let { draining } = await operator.ask('put /api/drain', { body: { draining: !isUndone } });
  let last = '';
  while (draining && !signal.aborted) {
    const text = drainingText(draining);
    if (text !== last) out.write(`${text}\n`);
    last = text;
    if (Object.values(draining).every((count) => count === 0)) {
      out.write('nothing runs: "aana-host stop" stops the application, "aana-host drain --undo" takes this back\n');
      return 0;
    }
    await delay(LOOK_EVERY_MS, signal).catch(() => {});
    ({ draining } = (await operator.ask('get /api/application', {})).application);
  }
  if (!draining) out.write('the application takes new requests and tasks\n');
  return draining || !isUndone ? 1 : 0;
}

/** The command `stop`. Shuts the application down and waits for its end. */
export async function stopApplication(
  { out, ...at }: LocalApplication & Output,
  graceS: number | undefined,
): Promise<number> {
  const address = await chooseServer(at.runtimeDir, at);
  const operator = await OperatorClient.at(address);
  await using connection = await ControlConnection.open(address);
  await operator.ask('post /api/stop', { query: { grace_s: graceS } });
  await connection.waitForEnd();
  await processEnd(address.pid);
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
