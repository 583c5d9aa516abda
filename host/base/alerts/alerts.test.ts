import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../core/errors.ts';
import type { Logger, LogLevel } from '../core/log/logger.ts';
import { deferred } from '../core/deferred.ts';
import { Metrics } from '../telemetry/index.ts';
import { SimulatedClock } from '../../test/simulation/simulated-clock.ts';
import { Alerts } from './alerts.ts';
import type { AlertEvent } from './announcements.ts';
import type { AlertFacts } from './facts.ts';
import type { AlertReport } from './report.ts';
import { rulesOf, type RuleInput } from './rules.ts';
import { SlowFact } from './slow-fact.ts';

const QUIET: AlertFacts = {
  deployments: [],
  plugins: [],
  requests: { total: 0, failed: 0 },
  disks: [],
  disabledWebhooks: [],
  certificate: undefined,
};
const START = Date.parse('2026-11-24T12:00:00Z');

interface World {
  facts: AlertFacts;
  isAway: boolean;
  readonly lines: { level: LogLevel; message: string; fields: Record<string, unknown> }[];
  readonly told: { event: AlertEvent; alert: AlertReport }[];
  readonly alerts: Alerts;
  readonly metrics: Metrics;
  /** Lets seconds pass, with a look each second. */
  pass(seconds: number): Promise<void>;
  /** Returns the states of the current and resolved alerts by subject. */
  states(): string[];
}

function world(rules: Readonly<Record<string, RuleInput>> = {}): World {
  const clock = new SimulatedClock();
  const metrics = new Metrics();
  const lines: World['lines'] = [];
  const told: World['told'] = [];
  const write =
    (level: LogLevel) =>
    (message: string, fields: object = {}): void =>
      void lines.push({ level, message, fields: { ...fields } });
  const log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  const made: World = {
    facts: QUIET,
    isAway: false,
    lines,
    told,
    metrics,
    alerts: new Alerts({
      rules: rulesOf(rules),
      intervalMs: 1000,
      facts: () => made.facts,
      announce: async (event, alert) => {
        if (made.isAway) throw new AanaError('DatabaseUnavailable', 'unavailable', 'the database is away');
        told.push({ event, alert });
      },
      log: log as unknown as Logger,
      telemetry: metrics,
      clock,
      wallClock: () => START + clock.now(),
    }),
    pass: async (seconds) => {
      for (let n = 0; n < seconds; n += 1) {
        clock.after(1000, () => made.alerts.look());
        await clock.run(
          () => false,
          1000,
          () => {},
        );
      }
    },
    states: () => made.alerts.report().alerts.map(({ subject, state }) => `${subject} ${state}`),
  };
  return made;
}

const deployment = (change: Partial<AlertFacts['deployments'][number]> = {}): AlertFacts['deployments'][number] => ({
  ...{ name: 'llm', status: 'RUNNING', message: '', ready: 1, queued: 0, maxQueued: 100 },
  ...change,
});
const down = { ...QUIET, deployments: [deployment({ status: 'UNHEALTHY', ready: 0, message: 'it has ended' })] };

function firing(metrics: Metrics, rule: string): number | undefined {
  const found = metrics.read().find(({ name }) => name === 'aana.alerts.firing');
  if (found?.kind !== 'gauge') return undefined;
  return found.points.find(({ attributes }) => attributes['aana.alert.rule'] === rule)?.value;
}

const Life = suite('the life of an alert');

Life('it waits for its time, fires once, and is resolved when its condition was over for long enough', async () => {
  const made = world({ deployment_down: { for_s: 10, keep_s: 5 } });
  assert.is(firing(made.metrics, 'deployment_down'), 0, 'the series exists before an alert');
  made.facts = down;
  await made.pass(10);
  assert.equal([made.states(), made.lines, made.told], [['llm pending'], [], []]);
  await made.pass(1);
  assert.equal(made.states(), ['llm firing']);
  assert.is(firing(made.metrics, 'deployment_down'), 1);
  await made.pass(100);
  assert.equal(
    made.told.map(({ event }) => event),
    ['alert.firing'],
  );
  assert.equal(
    made.lines.map(({ level, message, fields }) => [level, message, fields['alert'], fields['reason']]),
    [['error', 'alert fires', 'deployment_down', 'has no replica that works: it has ended']],
  );
  made.facts = QUIET;
  await made.pass(5);
  assert.equal(made.states(), ['llm firing']);
  await made.pass(1);
  assert.equal(made.states(), ['llm resolved']);
  assert.is(firing(made.metrics, 'deployment_down'), 0);
  assert.equal(
    made.told.map(({ event }) => event),
    ['alert.firing', 'alert.resolved'],
  );
  const [fired, resolved] = made.told.map(({ alert }) => alert);
  assert.is(fired?.id, resolved?.id);
  assert.equal(
    [resolved?.since, resolved?.fired_at, resolved?.resolved_at].map((time) => (Date.parse(time ?? '') - START) / 1000),
    [1, 11, 117],
  );
  assert.equal(
    made.lines.map(({ message }) => message),
    ['alert fires', 'alert is resolved'],
  );
});

Life('a condition that comes and goes neither fires early nor is told again and again', async () => {
  const made = world({ deployment_down: { for_s: 10, keep_s: 5 } });
  for (let n = 0; n < 10; n += 1) {
    made.facts = down;
    await made.pass(8);
    made.facts = QUIET;
    await made.pass(1);
  }
  assert.equal([made.states(), made.told], [[], []], 'it never lasted');
  made.facts = down;
  await made.pass(12);
  for (let n = 0; n < 10; n += 1) {
    made.facts = QUIET;
    await made.pass(3);
    made.facts = down;
    await made.pass(1);
  }
  assert.equal([made.states(), made.told.length], [['llm firing'], 1], 'it was never over');
  made.facts = QUIET;
  await made.pass(6);
  made.facts = down;
  await made.pass(12);
  assert.equal(
    made.told.map(({ event }) => event),
    ['alert.firing', 'alert.resolved', 'alert.firing'],
  );
  assert.is.not(made.told[0]?.alert.id, made.told[2]?.alert.id);
});

Life('nothing changes while the facts are not known', async () => {
  const made = world({ disk: { for_s: 0, keep_s: 0 } });
  made.facts = { ...QUIET, disks: [{ path: '/data', used: 0.95, freeBytes: 1024 ** 3 }] };
  await made.pass(1);
  assert.equal(made.states(), ['/data firing']);
  made.facts = { ...QUIET, disks: undefined };
  await made.pass(100);
  assert.equal(made.states(), ['/data firing']);
  assert.not.ok(made.alerts.report().rules.find(({ name }) => name === 'disk')?.is_known);
  made.facts = QUIET;
  await made.pass(1);
  assert.equal(made.states(), ['/data resolved']);
});

Life('events wait in their order for a database that is away', async () => {
  const made = world({ deployment_down: { for_s: 0, keep_s: 0 } });
  made.isAway = true;
  made.facts = down;
  await made.pass(2);
  made.facts = QUIET;
  await made.pass(20);
  assert.equal(made.told, []);
  assert.is(made.lines.filter(({ message }) => message === 'webhooks are told of alerts later').length, 1);
  made.isAway = false;
  await made.pass(1);
  assert.equal(
    made.told.map(({ event }) => event),
    ['alert.firing', 'alert.resolved'],
  );
});

Life('a rule has at most 100 alerts, and 100 resolved ones are kept', async () => {
  const made = world({ plugin_failed: {} });
  const plugins = Array.from({ length: 1000 }, (_, n) => ({ name: `p${n}`, error: 'x', queued: 0, maxQueued: 1 }));
  made.facts = { ...QUIET, plugins };
  await made.pass(3);
  assert.is(made.states().length, 100);
  made.facts = QUIET;
  await made.pass(1);
  made.facts = { ...QUIET, plugins: plugins.slice(500) };
  await made.pass(1);
  made.facts = QUIET;
  await made.pass(1);
  assert.is(made.states().length, 100);
  assert.is(made.told.length, 400);
});

Life('facts that throw are logged, and the next look goes on', async () => {
  const made = world();
  Object.defineProperty(made, 'facts', {
    get: () => {
      throw new Error('odd');
    },
    configurable: true,
  });
  await made.pass(1);
  assert.is(made.lines[0]?.message, 'the facts for alerts cannot be read');
  Object.defineProperty(made, 'facts', { value: down });
  await made.pass(40);
  assert.equal(made.states(), ['llm firing']);
});

Life.run();

const Rules = suite('rules of alerts');

Rules('find what they are for', async () => {
  const made = world({ queue: { for_s: 60 }, error_rate: { for_s: 0, keep_s: 0, window_s: 60 } });
  made.facts = { ...QUIET, deployments: [deployment({ queued: 79 })] };
  await made.pass(70);
  assert.equal(made.states(), []);
  made.facts = {
    ...QUIET,
    deployments: [deployment({ queued: 80 })],
    plugins: [{ name: 'p', error: null, queued: 9, maxQueued: 9 }],
  };
  await made.pass(61);
  assert.equal(made.states().sort(), ['llm firing', 'p firing']);

  const other = world({ error_rate: { for_s: 0, keep_s: 0, window_s: 60, min_requests: 20 } });
  const requests = async (total: number, failed: number): Promise<void> => {
    const before = other.facts.requests ?? { total: 0, failed: 0 };
    other.facts = { ...QUIET, requests: { total: before.total + total, failed: before.failed + failed } };
    await other.pass(1);
  };
  await requests(0, 0);
  await requests(19, 19);
  assert.equal(other.states(), [], 'too few to judge');
  await requests(1, 1);
  assert.equal(other.states(), ['requests firing']);
  assert.match(other.alerts.report().alerts[0]?.message ?? '', /^20 of 20 requests failed in 60 s \(100 %\)$/);
  await requests(381, 0);
  assert.equal(other.states(), ['requests resolved'], '20 of 401 is less than 5 %');
  await other.pass(61);
  await requests(100, 4);
  assert.is(other.told.length, 2);
  await requests(0, 1);
  assert.is(other.told.length, 3, 'what was before the window does not count');
});

Rules('tell apart a deployment that is down from one that misses replicas', async () => {
  const made = world({ deployment_degraded: { for_s: 0 }, deployment_down: { for_s: 0 } });
  made.facts = {
    ...QUIET,
    deployments: [
      deployment({ name: 'a', status: 'UNHEALTHY', ready: 1, message: 'no room' }),
      deployment({ name: 'b', status: 'UNHEALTHY', ready: 0 }),
      deployment({ name: 'c', status: 'DEPLOY_FAILED', ready: 0 }),
      deployment({ name: 'd', status: 'DEPLOYING', ready: 0 }),
      deployment({ name: 'e', status: 'UNLOADED', ready: 0 }),
      deployment({ name: 'f', ready: 0 }),
    ],
  };
  await made.pass(1);
  const found = made.alerts.report().alerts.map(({ subject, rule }) => `${subject} ${rule}`);
  assert.equal(found.sort(), ['a deployment_degraded', 'b deployment_down', 'c deployment_down']);
});

Rules('give what several hosts see the same id, and a new one when it happens again', async () => {
  const webhook = { id: 'w', target: 'http://a', disabledAt: 5, reason: '410' };
  const certificate = { file: '/cert.pem', endsAt: START + 86_400_000, fingerprint: 'AB' };
  const ids = async (facts: Partial<AlertFacts>): Promise<string[]> => {
    const made = world({ deployment_down: { for_s: 0 } });
    made.facts = { ...QUIET, ...facts };
    await made.pass(1);
    return made.told.map(({ alert }) => alert.id);
  };
  const shared = { disabledWebhooks: [webhook], certificate };
  const first = await ids(shared);
  assert.is(first.length, 2);
  assert.equal(await ids(shared), first);
  const later = await ids({
    disabledWebhooks: [{ ...webhook, disabledAt: 6 }],
    certificate: { ...certificate, fingerprint: 'CD' },
  });
  assert.not.ok(later.some((id) => first.includes(id)));
  assert.is.not((await ids(down))[0], (await ids(down))[0]);
});

Rules('can be turned off, changed, limited to subjects and added', async () => {
  const made = world({
    deployment_down: { enabled: false },
    plugin_failed: { only: ['mine'], severity: 'info' },
    disk_soon_full: { kind: 'disk', threshold: 0.5, for_s: 0, severity: 'info' },
  });
  const disks = [{ path: '/d', used: 0.6, freeBytes: 0 }];
  const plugins = ['mine', 'yours'].map((name) => ({ name, error: 'x', queued: 0, maxQueued: undefined }));
  made.facts = { ...down, disks, plugins };
  await made.pass(100);
  assert.equal(made.states().sort(), ['/d firing', 'mine firing']);
  assert.equal(new Set(made.lines.map(({ level }) => level)), new Set(['info']));
});

Rules.run();

const Slow = suite('a fact whose reading may take long');

Slow('is read once at a time, and forgotten when it does not come any more', async () => {
  const clock = new SimulatedClock();
  let reads = 0;
  let next = deferred<number>();
  const fact = new SlowFact(() => ((reads += 1), next.promise), 1000, clock);
  const after = async (ms: number): Promise<number | undefined> => {
    clock.after(ms, () => {});
    await clock.run(
      () => false,
      ms,
      () => {},
    );
    return fact.get();
  };
  assert.is(fact.get(), undefined);
  next.resolve(1);
  assert.is(await after(10), 1);
  assert.is(reads, 1);
  next = deferred<number>();
  assert.is(await after(1000), 1);
  assert.is(await after(3000), 1);
  assert.is(reads, 2, 'the second reading hangs');
  assert.is(await after(3000), undefined);
  next.reject(new Error('gone'));
  next = deferred<number>();
  next.resolve(2);
  await after(10);
  assert.is(await after(10), 2);
});

Slow.run();
