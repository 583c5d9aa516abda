// Every rule of alerts in a real application.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AlertReport } from '../base/alerts/index.ts';
import { applicationAlerts } from '../cli/commands/care/alerts.ts';
import { startDashboardApp } from '../apis/http/dashboard/fixtures/dashboard-app.ts';
import { CertificateFolder, hasOpenssl } from '../base/certificates/fixtures/certificates.ts';
import type { AanaApp, ConfigInput } from 'aana-host';
import { until } from '../test/helpers/server.ts';
import { skip } from '../test/skip.ts';
import { isSigned, type Received, Receiver } from '../data/webhooks/fixtures/receiver.ts';
import { FragileDeployment } from './fixtures/fragile-deployment.ts';
import { makeApp, makeFolder, postJson, started } from './fixtures/test-app.ts';

/** Rules that fire and are resolved as soon as the host looks. */
const AT_ONCE = { for_s: 0, keep_s: 0 };
const EAGER = Object.fromEntries(
  ['deployment_down', 'deployment_degraded', 'plugin_failed', 'error_rate', 'queue', 'disk'].map((name) => [
    name,
    AT_ONCE,
  ]),
);

const Rules = suite('alerts of an application');
const folder = makeFolder();
const receiver = await Receiver.start();
let app: AanaApp;

Rules.before.each(() => {
  receiver.received.length = 0;
  receiver.answer = () => 200;
});
Rules.after.each(() => app?.shutdown({ graceMs: 0 }));
Rules.after(async () => {
  await receiver.close();
  rmSync(folder, { recursive: true, force: true });
});

let made = 0;
function alertsApp(rules: object, more: ConfigInput = {}): AanaApp {
  made += 1;
  app = makeApp(folder, {}, {
    data_dir: join(folder, `data-${made}`),
    runtime_dir: join(folder, `run-${made}`),
    alerts: { interval_s: 0.1, rules: { ...EAGER, ...rules } },
    webhook: { allow_private_urls: true, retry_delay: 0.05, max_retry_delay: 0.05, retry_attempts: 3 },
    ...more,
  } as ConfigInput);
  const schemas = { input: z.strictObject({}), output: z.unknown() };
  app.registerEndpoint({ name: 'well', path: '/well', ...schemas, run: async () => 1 });
  app.registerEndpoint({
    ...{ name: 'broken', path: '/broken', ...schemas },
    run: () => {
      throw new Error('it is broken');
    },
  });
  return app;
}

/** What the command `alerts --json` prints. */
async function listed(): Promise<{ code: number; alerts: AlertReport[]; text: string }> {
  let text = '';
  const out = { write: (more: string) => (text += more) } as unknown as NodeJS.WritableStream;
  const at = { runtimeDir: app.config.runtime_dir ?? '', host: undefined, port: undefined, out: out as never };
  const code = await applicationAlerts(at, true);
  const { alerts } = JSON.parse(text) as { alerts: AlertReport[] };
  return { code, alerts, text };
}

async function untilState(rule: string, state: AlertReport['state']): Promise<AlertReport> {
  let found: AlertReport | undefined;
  await until(async () => {
    found = (await listed()).alerts.find((alert) => alert.rule === rule && alert.state === state);
    return found !== undefined;
  });
  return found as AlertReport;
}

const webhook = async (events: readonly string[]): Promise<{ id: string; secret: string }> => {
  const answer = await postJson(`${app.url}/webhooks`, { url: receiver.url, events });
  assert.is(answer.status, 201);
  return (await answer.json()) as { id: string; secret: string };
};
const alertOf = (sent: Received | undefined): AlertReport => sent?.payload as unknown as AlertReport;
const ALERTS = ['alert.firing', 'alert.resolved'];

Rules('a deployment whose replica cannot start: fires, is told to webhooks, and is resolved', async () => {
  const file = join(folder, 'needed');
  writeFileSync(file, '');
  alertsApp({}).registerDeployment('fragile', FragileDeployment.options({ user_config: { file } }));
  await started(app);
  const { secret } = await webhook(ALERTS);
  await webhook([]); // every event of tasks, and no alert
  assert.equal([(await listed()).code, (await listed()).alerts], [0, []]);
  rmSync(file);
  const { crash } = app.handle('fragile') as unknown as { crash(args: object): Promise<null> };
  await crash({}).catch(() => {});
  const alert = await untilState('deployment_down', 'firing');
  assert.equal([alert.subject, alert.severity, alert.kind], ['fragile', 'critical', 'deployment_down']);
  assert.match(alert.message, /has no replica that works: .+/);
  assert.is((await listed()).code, 1);
  await receiver.until(1);
  const [sent] = receiver.received;
  assert.is(sent?.event, 'alert.firing');
  assert.is(alertOf(sent).id, alert.id);
  assert.ok(sent && (await isSigned(sent, secret)));
  writeFileSync(file, '');
  await app.loadDeployment('fragile').catch(() => {});
  await untilState('deployment_down', 'resolved');
  await receiver.until(2);
  const last = receiver.received.find(({ event }) => event === 'alert.resolved');
  assert.is(alertOf(last).id, alert.id);
  assert.is((await listed()).code, 0);
  assert.is(receiver.received.length, 2, 'the other webhook gets none');
});

Rules('failing requests and a full queue', async () => {
  const file = join(folder, 'kept');
  writeFileSync(file, '');
  alertsApp({ error_rate: { ...AT_ONCE, min_requests: 5, window_s: 10 } }).registerDeployment(
    'fragile',
    FragileDeployment.options({ user_config: { file }, max_ongoing_requests: 1, max_queued_requests: 5 }),
  );
  await started(app);
  await untilRulesAreKnown();
  for (let n = 0; n < 10; n += 1) assert.is((await postJson(`${app.url}/broken`)).status, 500);
  const failing = await untilState('error_rate', 'firing');
  assert.ok((failing.value ?? 0) > 0.5);
  for (let n = 0; n < 500; n += 1) await postJson(`${app.url}/well`);
  await untilState('error_rate', 'resolved');

  const handle = app.handle('fragile') as unknown as { wait(options?: object): Promise<null> };
  const calls = Array.from({ length: 6 }, () => handle.wait({}).catch(() => {}));
  const full = await untilState('queue', 'firing');
  assert.equal([full.subject, full.value, full.message], ['fragile', 1, '5 calls wait, and at most 5 may']);
  await app.shutdown({ graceMs: 0 });
  await Promise.all(calls);
});

Rules('a webhook that the host disables, but not one that its user disables', async () => {
  alertsApp({}, {
    webhook: {
      allow_private_urls: true,
      retry_delay: 0.05,
      max_retry_delay: 0.05,
      disable_after: 0,
      disable_after_failures: 2,
    },
  } as ConfigInput);
  await started(app);
  const { id: dead } = await webhook(['task.completed']);
  const { id: off } = await webhook(['task.failed']);
  await fetch(`${app.url}/webhooks/${off}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: '{"enabled":false}',
  });
  receiver.answer = ({ event }) => (event.startsWith('task.') ? 500 : 200);
  await webhook(ALERTS);
  await postJson(`${app.url}/well?defer=true`);
  const alert = await untilState('webhook_disabled', 'firing');
  assert.is(alert.subject, dead);
  assert.match(alert.message, /^the webhook to http:\/\/127\.0\.0\.1:\d+ is disabled: 2 attempts in a row failed/);
  assert.is((await listed()).alerts.length, 1);
  await until(async () => receiver.received.some(({ event }) => event === 'alert.firing'));
  await fetch(`${app.url}/webhooks/${dead}`, { method: 'DELETE' });
  await untilState('webhook_disabled', 'resolved');
});

if (hasOpenssl)
  Rules('a certificate that ends soon', async () => {
    using certificates = new CertificateFolder();
    const { cert, key } = certificates.make('soon'); // ends in two days
    alertsApp({ certificate: { ...AT_ONCE, threshold: 3 } }, { tls: { cert, key } } as ConfigInput);
    await started(app);
    const alert = await untilState('certificate', 'firing');
    assert.is(alert.subject, cert);
    assert.ok((alert.value ?? 0) > 1.9 && (alert.value ?? 0) <= 2);
    await app.shutdown({ graceMs: 0 });
    alertsApp({ certificate: { ...AT_ONCE, threshold: 1 } }, { tls: { cert, key } } as ConfigInput);
    await started(app);
    await untilRulesAreKnown();
    assert.equal((await listed()).alerts, []);
  });

/** Waits until the host has looked at everything. */
async function untilRulesAreKnown(): Promise<void> {
  await until(async () => {
    const { rules } = JSON.parse((await listed()).text) as { rules: { is_known: boolean }[] };
    return rules.every((rule) => rule.is_known);
  });
}

function smallDisk(): string | undefined {
  const path = mkdtempSync(join(tmpdir(), 'aana-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', path], { stdio: 'ignore' });
    return path;
  } catch {
    rmdirSync(path);
    return undefined;
  }
}

const disk = smallDisk();
if (disk === undefined) skip('alerts of a full disk', 'this user may not mount a file system');
else
  Rules('a disk that is nearly full, until there is room again', async () => {
    try {
      alertsApp({}, { media: { temp_dir: disk } } as ConfigInput);
      await started(app);
      await untilRulesAreKnown();
      assert.equal(
        (await listed()).alerts.filter(({ subject }) => subject === disk),
        [],
      );
      writeFileSync(join(disk, 'much'), new Uint8Array(1_000_000));
      const alert = await untilState('disk', 'firing');
      assert.is(alert.subject, disk);
      assert.match(alert.message, /^the disk is used to 9\d(\.\d)? %, 0 MiB are free$/);
      rmSync(join(disk, 'much'));
      await untilState('disk', 'resolved');
      await app.shutdown({ graceMs: 0 });
    } finally {
      execFileSync('umount', ['-l', disk]);
      rmdirSync(disk);
    }
  });

Rules('a plugin that cannot be loaded', async () => {
  const plugin = join(folder, 'odd.wasm');
  writeFileSync(plugin, 'not a component');
  alertsApp({}).registerPlugins(plugin);
  await started(app);
  const alert = await untilState('plugin_failed', 'firing');
  assert.match(alert.subject, /odd/);
  assert.match(alert.message, /^its newest version does not serve: .+/);
});

Rules('the dashboard gets them, and the public server does not without keys', async () => {
  await using dashboard = await startDashboardApp({
    alerts: { interval_s: 0.1, rules: { disk: { threshold: 0.000_001, for_s: 0 } } },
  });
  const { ask, app: one } = dashboard;
  const firing = async (): Promise<AlertReport[]> =>
    ((await (await ask('/api/application')).json()) as { alerts: AlertReport[] }).alerts;
  await until(async () => (await firing()).length > 0);
  assert.ok((await firing()).every(({ rule, state }) => rule === 'disk' && state === 'firing'));
  const report = (await (await ask('/api/alerts')).json()) as { alerts: AlertReport[]; rules: unknown[] };
  assert.is(report.rules.length, 8);
  assert.is((await fetch(`${one.url}/api/alerts`)).status, 404);
});

Rules('only the key of an admin sets a webhook for them', async () => {
  alertsApp({ disk: { threshold: 0.000_001, for_s: 0 } }, { api_service: { enabled: true } } as ConfigInput);
  await started(app);
  const key = async (user: string, more: object = {}): Promise<string> =>
    (await app.apiKeys?.create({ user_id: user, ...more }))?.apiKey ?? '';
  const [admin, user, limited, ofAdmin] = [
    await key('operator', { is_admin: true }),
    await key('somebody'),
    await key('operator', { is_admin: true, scopes: ['webhooks'] }),
    await key('operator'),
  ];
  const ask = async (
    path: string,
    by: string,
    method: string,
    body?: object,
  ): Promise<[number, string | undefined, string]> => {
    const answer = await fetch(`${app.url}${path}`, {
      method,
      headers: { 'x-api-key': by, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const { error, id } = (await answer.json()) as { error?: string; id?: string };
    return [answer.status, error, id ?? ''];
  };
  const hook = { url: receiver.url, events: ALERTS };
  for (const by of [user, limited, ofAdmin])
    assert.equal((await ask('/webhooks', by, 'POST', hook)).slice(0, 2), [403, 'AlertsForAdmins']);
  const [, , plain] = await ask('/webhooks', user, 'POST', { url: receiver.url });
  assert.equal((await ask(`/webhooks/${plain}`, user, 'PUT', { events: ALERTS })).slice(0, 2), [
    403,
    'AlertsForAdmins',
  ]);
  const [status, , id] = await ask('/webhooks', admin, 'POST', hook);
  assert.is(status, 201);
  assert.equal((await ask(`/webhooks/${id}`, ofAdmin, 'PUT', { url: `${receiver.url}/mine` })).slice(0, 2), [
    403,
    'AlertsForAdmins',
  ]);
  assert.is((await ask('/api/alerts', user, 'GET'))[0], 403);
  assert.is((await ask('/api/alerts', admin, 'GET'))[0], 200);
});

Rules('without rules nothing is watched', async () => {
  alertsApp({}, { alerts: { enabled: false } } as ConfigInput);
  await started(app);
  const { code, text } = await listed();
  assert.equal([code, JSON.parse(text)], [0, { alerts: [], rules: [] }]);
});

Rules.run();
