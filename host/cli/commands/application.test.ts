import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { serveSample, type Served } from '../../apis/control/client/fixtures/serve-sample.ts';
import type { ApplicationReport } from '../../apis/http/index.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { connect } from '../../apis/control/client/index.ts';
import {
  type ApplicationCommand,
  applicationLogLevels,
  applicationLogs,
  applicationStatus,
  deploymentHistory,
  listDeployments,
  loadDeployment,
  type LogsOptions,
  scaleDeployment,
  unloadDeployment,
} from './application.ts';
import { applicationTraces } from './traces.ts';
import { until } from '../../test/helpers/server.ts';
import { command, type CommandResult } from '../../test/helpers/command-line/command.ts';

const Commands = suite('aana-host status, scale, deployments, logs, traces and stop');
const program = join(packageRoot, 'bundle/host/cli/main.js');
let folder = '';
let served: Served;

Commands.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-a-'));
  served = await serveSample(folder);
});
Commands.after(async () => {
  await served.end('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

const argumentsOf = (args: readonly string[], runtimeDir: string): string[] => [
  ...args,
  '--cache-dir',
  folder,
  '--runtime-dir',
  runtimeDir,
];

const run = (...args: string[]): Promise<CommandResult> =>
  command(argumentsOf(args, served.runtimeDir), { cwd: folder });

async function report(): Promise<ApplicationReport> {
  await using app = await connect({ runtime_dir: served.runtimeDir });
  return await app.status();
}

/** Runs a command in this process. */
async function output(work: (to: ApplicationCommand) => Promise<number>): Promise<{ code: number; out: string }> {
  let out = '';
  const code = await work({
    runtimeDir: served.runtimeDir,
    port: undefined,
    out: { write: (text) => (out += text) },
  });
  return { code, out };
}

Commands('status shows the application in 80 columns and as JSON', async () => {
  const { code, out, err } = await run('status');
  assert.equal([code, err], [0, '']);
  assert.match(
    out,
    new RegExp(
      `^app at ${served.url}: RUNNING\n  aana-host \\d+\\.\\d+\\.\\d+, process ${served.process.pid}\n\nsample: ` +
        `RUNNING\n  replica +state +pid +device +ongoing +memory +restarts\n  sample#1 +ready +\\d+ `,
    ),
  );
  assert.ok(
    out.split('\n').every((line) => line.length <= 80),
    out,
  );
  const json = await output((to) => applicationStatus(to, true));
  const { deployments, pid, status } = JSON.parse(json.out) as ApplicationReport;
  assert.equal(
    [json.code, status, pid, deployments.map(({ name }) => name)],
    [0, 'RUNNING', served.process.pid, ['sample', 'narrow']],
  );
  const [replica] = deployments[0]?.replicas ?? [];
  assert.equal([replica?.state, replica?.device, replica?.ongoing, replica?.restarts], ['ready', 'CPU', 0, 0]);
  if (process.platform === 'linux') assert.ok((replica?.memory_bytes ?? 0) > 1_000_000);
});

Commands('status ends with 1 while a replica is missing', async () => {
  await until(async () => {
    const pid = (await report()).deployments[0]?.replicas[0]?.pid;
    try {
      if (pid) process.kill(pid, 'SIGKILL');
    } catch {} // it has just ended
    return (await output((to) => applicationStatus(to, false))).code === 1;
  });
  await until(async () => (await output((to) => applicationStatus(to, false))).code === 0);
  assert.ok(((await report()).deployments[0]?.replicas[0]?.restarts ?? 0) >= 1);
});

Commands('logs prints the latest lines, or those of one deployment, as text and as JSON', async () => {
  const logs = async (options: Partial<LogsOptions> = {}): Promise<string[]> => {
    const all: LogsOptions = { lines: 100, follow: false, deployment: undefined, format: 'text', ...options };
    return (await output((to) => applicationLogs(to, all, new AbortController().signal))).out.trimEnd().split('\n');
  };
  assert.is((await logs({ lines: 1 })).length, 1);
  assert.ok(
    (await logs()).some((line) =>
      / INFO {2}Deployed successfully\. area=application deployments=2 endpoints=1/.test(line),
    ),
  );
  assert.ok((await logs({ deployment: 'sample' })).some((line) => line.includes('replica lost, restarting')));
  assert.match((await logs({ area: 'application', lines: 1 }))[0] ?? '', / area=application/);
  const { out, code } = await output((to) => applicationLogLevels(to, { level: 'warn', levels: { http: 'debug' } }));
  assert.equal([out, code], ['warn\nhttp=debug\n', 0]);
  await output((to) => applicationLogLevels(to, { level: 'info', levels: { http: null } }));
  const records = (await logs({ deployment: 'narrow', format: 'json' })).map(
    (line) => JSON.parse(line) as { deployment: string },
  );
  assert.ok(records.length > 0 && records.every(({ deployment }) => deployment === 'narrow'));
});

Commands('traces prints the last failed requests, and those of one trace with their spans', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const failed = await fetch(`${served.url}/fail`, {
    method: 'POST',
    body: new URLSearchParams({ body: '{}' }),
    headers: { traceparent: `00-${trace}-00f067aa0ba902b7-01` },
  });
  assert.is(failed.status, 500);
  const { out } = await output((to) => applicationTraces(to, undefined, false));
  assert.match(out, new RegExp(`^20\\S+Z +\\d+\\.\\d ms ${trace} POST /fail InferenceException\n`));
  const spans = (await output((to) => applicationTraces(to, trace, false))).out.split('\n');
  assert.match(
    spans[2] ?? '',
    /^ +\d+\.\d ms +\d+\.\d ms +aana\.deployment\.call InferenceException aana\.deployment=sample /,
  );
  const [report] = JSON.parse((await output((to) => applicationTraces(to, trace, true))).out) as {
    spans: { parent_span_id: string }[];
  }[];
  assert.is(report?.spans[0]?.parent_span_id, '00f067aa0ba902b7');
  assert.equal(await run('traces', '0'.repeat(32)), {
    code: 2,
    out: '',
    err: 'error: no failed or slow request of this trace is kept\n',
  });
});

Commands('scale changes the number of replicas', async () => {
  const scaled = await output((to) => scaleDeployment(to, 'sample', 2));
  assert.equal(scaled, { code: 0, out: 'sample has 2 replicas\n' });
  const replicas = async (): Promise<(string | undefined)[]> =>
    ((await report()).deployments[0]?.replicas ?? []).map(({ state }) => state);
  assert.equal(await replicas(), ['ready', 'ready']);
  await output((to) => scaleDeployment(to, 'sample', 1));
  assert.equal(await replicas(), ['ready']);
});

Commands('deployments lists, unloads and loads deployments', async () => {
  const listed = async (): Promise<string> => (await output((to) => listDeployments(to, false))).out;
  assert.match(await listed(), /^DEPLOYMENT  STATUS   REPLICAS  TYPE\nsample +RUNNING  1 +\w+\n/);
  const { out: history } = await output((to) => deploymentHistory(to, { limit: 10 }, true));
  assert.equal(JSON.parse(history), { epoch: null, changes: [] }, 'it listens on any free port');
  assert.equal(await output((to) => unloadDeployment(to, 'sample', 5)), {
    code: 0,
    out: 'sample is unloaded; "aana-host deployments load sample" starts it again\n',
  });
  assert.match(await listed(), /\nsample +UNLOADED +0 /);
  assert.equal(await output((to) => loadDeployment(to, 'sample')), { code: 0, out: 'sample is loaded\n' });
  const [row] = JSON.parse((await output((to) => listDeployments(to, true))).out);
  assert.equal([row.name, row.status, row.replicas], ['sample', 'RUNNING', 1]);
  assert.is(
    (await run('deployments', 'load', 'none')).err,
    'error: there is no deployment none; deployments are: sample, narrow\n',
  );
});

Commands('mistakes have exit code 2 and a message of one sentence', async () => {
  assert.equal(await run('scale', 'none', '2'), {
    code: 2,
    out: '',
    err: 'error: there is no deployment none; deployments are: sample, narrow\n',
  });
  assert.is((await run('scale', 'sample', 'two')).code, 2);
  assert.is((await run('stop', '--grace', 'long')).code, 2);
  assert.equal(await run('status', '--port', '9'), {
    code: 2,
    out: '',
    err: 'error: no aana-host application of this user is running on port 9\n',
  });
});

Commands('logs --follow continues until stop, which waits for the end', async () => {
  const following = spawn(process.execPath, [program, ...argumentsOf(['logs', '-f', '-n', '1'], served.runtimeDir)], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(following, 'exit');
  let text = '';
  following.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  await once(following.stdout, 'data');
  assert.equal(await run('stop', '--grace', '1'), {
    code: 0,
    out: `the application at ${served.url} has stopped\n`,
    err: '',
  });
  assert.equal(await ended, [0, null]);
  assert.match(text, /shut down area=application\n$/);
  assert.equal(await readdir(served.runtimeDir), []);
  for (const name of ['status', 'stop']) {
    assert.equal(await run(name), {
      code: 2,
      out: '',
      err: 'error: no aana-host application of this user is running; start one with "aana-host serve"\n',
    });
  }
});

Commands.run();
