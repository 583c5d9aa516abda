import { askOperator } from '../../../apis/control/index.ts';
import type { OperatorAnswer } from '../../../apis/http/index.ts';
import type { ApplicationCommand } from '../application.ts';

type Alert = OperatorAnswer<'get /api/alerts'>['alerts'][number];

/** The command `alerts`. Prints the alerts that fire, wait and were resolved; the exit code is 1 while one fires. */
export async function applicationAlerts({ out, ...at }: ApplicationCommand, asJson: boolean): Promise<number> {
  const report = await askOperator(at, 'get /api/alerts', {});
  const { alerts, rules } = report;
  if (asJson) out.write(`${JSON.stringify(report, undefined, 2)}\n`);
  else if (rules.length === 0) out.write('alerts are off (alerts.enabled)\n');
  else if (alerts.length === 0) out.write(`no alerts; ${rules.length} rules are watched\n`);
  else out.write(alerts.map(lineOf).join(''));
  return alerts.some(({ state }) => state === 'firing') ? 1 : 0;
}

function lineOf({ state, severity, rule, subject, message, since, fired_at: fired, resolved_at: over }: Alert): string {
  const at = over ?? fired ?? since;
  return `${state.padEnd(8)} ${severity.padEnd(8)} ${at} ${rule} ${subject}: ${message.replaceAll('\n', ' ')}\n`;
}
