import type { ApplicationReport, DeploymentHistory, ReplicaReport } from '../../apis/http/index.ts';
import { columnsText } from '../columns.ts';

const WIDTH = 80;
const COLUMNS = ['replica', 'state', 'pid', 'device', 'ongoing', 'memory', 'restarts'] as const;

/**
 * Returns the status of an application for people, on lines of 80 columns unless names are long. `history` has the last
 * changes, or the reason why they cannot be read.
 */
export function statusText(
  { name, version, url, pid, workers, status, phase, message, deployments, controller, draining }: ApplicationReport,
  history: DeploymentHistory | string,
): string {
  const head =
    `${name} at ${url}: ${status}\n  ${phase === status ? '' : `${phase}, `}aana-host ${version}, ` +
    `process ${pid}\n`;
  const others = workers.map((one) => `${one.worker} (process ${one.pid})`).join(', ');
  const more = others === '' ? '' : wrapped(`workers: ${others}`, '  ');
  const own = deployments.length === 0 && message !== '' ? wrapped(message, '  ') : '';
  const parts = deployments.map((deployment) => {
    const { replicas, queued } = deployment;
    const waiting = queued === 0 ? '' : `, ${queued} ${queued === 1 ? 'call waits' : 'calls wait'}`;
    const why = deployment.message === '' ? '' : wrapped(deployment.message, '  ');
    return (
      `\n${deployment.name}: ` +
      `${deployment.status}${waiting}\n${why}${replicas.length === 0 ? '  no replicas\n' : table(replicas)}`
    );
  });
  const lost = controller.superseded === null ? '' : wrapped(controller.superseded, '  ');
  const drain = draining ? wrapped(drainingText(draining), '  ') : '';
  return head + more + lost + drain + own + parts.join('') + changesText(history);
}

/** Returns the last changes of operators, if there are any. */
function changesText(history: DeploymentHistory | string): string {
  if (typeof history === 'string') return `\nlast changes: unknown\n${wrapped(history, '  ')}`;
  const lines = history.changes.map(
    (change) => `${timeText(change.changed_at)} ${change.deployment}: ${whatText(change)}, by ${change.changed_by}`,
  );
  return lines.length === 0
    ? ''
    : `\nlast changes (all: aana-host deployments history)\n${lines.map((line) => wrapped(line, '  ')).join('')}`;
}

type Change = DeploymentHistory['changes'][number];

const timeText = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

const whatText = ({ kind, detail }: Change): string => (detail === '' ? kind : `${kind}: ${detail}`);

/** Returns what runs in an application that drains, for people. */
export function drainingText({ requests, tasks, calls }: NonNullable<ApplicationReport['draining']>): string {
  const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
  return `draining: ${counted(requests, 'request')}, ${counted(tasks, 'task')} and ${counted(calls, 'call')} run`;
}

/** Returns a line for each deployment, for people. */
export function deploymentsText(
  rows: readonly { readonly name: string; readonly type: string; readonly status: string; readonly replicas: number }[],
): string {
  if (rows.length === 0) return 'the application has no deployments\n';
  return columnsText([
    ['DEPLOYMENT', 'STATUS', 'REPLICAS', 'TYPE'],
    ...rows.map(({ name, status, replicas, type }) => [name, status, String(replicas), type]),
  ]);
}

/** Returns a line for each change of a deployment, for people. */
export function historyText({ epoch, changes }: DeploymentHistory): string {
  if (epoch === null)
    return 'the application keeps no history, because it uses no database or listens on any free port\n';
  if (changes.length === 0) return 'no operator has changed a deployment\n';
  return columnsText([
    ['CHANGE', 'TIME', 'START', 'DEPLOYMENT', 'WHAT', 'BY'],
    ...changes.map((change) => [
      String(change.number),
      timeText(change.changed_at),
      String(change.epoch),
      change.deployment,
      whatText(change),
      change.changed_by,
    ]),
  ]);
}

/** Returns what does not fit into the columns. */
const detailsOf = (replica: ReplicaReport | undefined): string[] =>
  replica
    ? [replica.message, replica.models.length > 0 ? `models: ${replica.models.join(', ')}` : ''].filter(Boolean)
    : [];

function table(replicas: readonly ReplicaReport[]): string {
  const rows = replicas.map((replica) => [
    replica.name,
    replica.state,
    replica.pid === null ? '-' : String(replica.pid),
    replica.device || '-',
    String(replica.ongoing),
    replica.memory_bytes === null ? '-' : bytesText(replica.memory_bytes),
    String(replica.restarts),
  ]);
  const widths = COLUMNS.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `  ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd();
  const lines = rows.map(
    (row, index) =>
      `${line(row)}\n${detailsOf(replicas[index])
        .map((text) => wrapped(text, '    '))
        .join('')}`,
  );
  return `${line(COLUMNS)}\n${lines.join('')}`;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

function bytesText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const value = bytes / 1024 ** power;
  return `${value.toFixed(value < 10 && power > 0 ? 1 : 0)} ${UNITS[power]}`;
}

/** Wraps a text at {@link WIDTH} columns, unless one word is longer. */
function wrapped(text: string, indent: string): string {
  const lines: string[] = [];
  for (const paragraph of text.split('\n')) {
    let line = indent;
    for (const word of paragraph.split(/\s+/).filter((part) => part !== '')) {
      const isFirst = line === indent;
      if (!isFirst && line.length + 1 + word.length > WIDTH) {
        lines.push(line);
        line = indent + word;
      } else line += (isFirst ? '' : ' ') + word;
    }
    lines.push(line);
  }
  return `${lines.join('\n')}\n`;
}
