import type { AlertFacts, RequestFacts } from './facts.ts';
import type { AlertRule, RuleKind } from './rules.ts';

/** A subject for which the condition of a rule holds. */
export interface Finding {
  /** What it is about, such as a deployment. */
  readonly subject: string;
  readonly value: number | null;
  /** A sentence with the reason. */
  readonly message: string;
  /**
   * Names an occasion that all hosts of a database see, and that outlasts a restart. Undefined for what concerns only
   * this process.
   */
  readonly occasion?: string | undefined;
}

export interface Look extends AlertFacts {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Returns the requests of the last seconds; undefined if they are not counted. */
  readonly requestsWithin: (seconds: number) => RequestFacts | undefined;
}

const DAY_MS = 86_400_000;

const percent = (part: number): string => `${Math.round(part * 1000) / 10} %`;

/** Returns the findings of a rule; undefined when the facts that it needs are not known. */
export function findingsOf(rule: AlertRule, look: Look): readonly Finding[] | undefined {
  const found = CONDITIONS[rule.kind](look, rule, rule.threshold ?? 0);
  const { only } = rule;
  return only ? found?.filter(({ subject }) => only.includes(subject)) : found;
}

type Condition = (look: Look, rule: AlertRule, threshold: number) => readonly Finding[] | undefined;

const CONDITIONS: Readonly<Record<RuleKind, Condition>> = {
  deployment_down: ({ deployments }) =>
    deployments
      .filter(({ status, ready }) => status === 'DEPLOY_FAILED' || (status === 'UNHEALTHY' && ready === 0))
      .map(({ name, message }) => ({ subject: name, value: null, message: `has no replica that works: ${message}` })),
  deployment_degraded: ({ deployments }) =>
    deployments
      .filter(({ status, ready }) => status === 'UNHEALTHY' && ready > 0)
      .map(({ name, ready, message }) => ({
        subject: name,
        value: ready,
        message: `has only ${ready} of its replicas: ${message}`,
      })),
  plugin_failed: ({ plugins }) =>
    plugins.flatMap(({ name, error }) =>
      error === null ? [] : [{ subject: name, value: null, message: `its newest version does not serve: ${error}` }],
    ),
  error_rate: ({ requestsWithin }, { window_s: windowS, min_requests: least }, threshold) => {
    const requests = requestsWithin(windowS);
    if (!requests) return undefined;
    const { total, failed } = requests;
    if (total < least || failed / total < threshold) return [];
    const message = `${failed} of ${total} requests failed in ${windowS} s (${percent(failed / total)})`;
    return [{ subject: 'requests', value: failed / total, message }];
  },
  queue: ({ deployments, plugins }, _rule, threshold) =>
    [...deployments, ...plugins].flatMap(({ name, queued, maxQueued }) =>
      maxQueued === undefined || maxQueued === 0 || queued / maxQueued < threshold
        ? []
        : [
            {
              subject: name,
              value: queued / maxQueued,
              message: `${queued} calls wait, and at most ${maxQueued} may`,
            },
          ],
    ),
  disk: ({ disks }, _rule, threshold) =>
    disks
      ?.filter(({ used }) => used >= threshold)
      .map(({ path, used, freeBytes }) => ({
        subject: path,
        value: used,
        message: `the disk is used to ${percent(used)}, ${Math.floor(freeBytes / 1024 ** 2)} MiB are free`,
      })),
  webhook_disabled: ({ disabledWebhooks }) =>
    disabledWebhooks?.map(({ id, target, disabledAt, reason }) => ({
      subject: id,
      value: null,
      message: `the webhook to ${target} is disabled: ${reason}`,
      occasion: `${id} ${disabledAt}`,
    })),
  certificate: ({ certificate, now }, _rule, threshold) => {
    if (!certificate) return [];
    const days = (certificate.endsAt - now) / DAY_MS;
    if (days > threshold) return [];
    const end = new Date(certificate.endsAt).toISOString();
    const message = days < 0 ? `the certificate ended at ${end}` : `the certificate ends at ${end}`;
    return [{ subject: certificate.file, value: days, message, occasion: certificate.fingerprint }];
  },
};
