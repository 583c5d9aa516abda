// Processes that reach an application as other machines of its cluster do: with certificates, over TLS.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { type AddressInfo, connect as connectTcp, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hasOpenssl } from '../../../base/certificates/fixtures/certificates.ts';
import { ClusterFolder } from '../../../base/certificates/fixtures/cluster-files.ts';
import { type MemberFiles, Membership } from '../../../base/certificates/index.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { passageTo } from '../../../inference/rpc/fixtures/passage.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { until } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import { startControl } from '../server/index.ts';
import { serveSample, type Served } from './fixtures/serve-sample.ts';
import { connect, type RunningApplication } from './index.ts';

const Cluster = suite('other machines of a cluster');

let certificates: ClusterFolder;
let folder = '';
let served: Served;
let port = 0;

/** Connects as this member. */
async function attach({ cert, key, ca, name }: MemberFiles, at = port): Promise<RunningApplication> {
  const settings = { CERT: cert, KEY: key, CA: ca, NAME: name };
  for (const [setting, value] of Object.entries(settings)) process.env[`AANA_CLUSTER_${setting}`] = value;
  return connect({ address: `127.0.0.1:${at}` });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: free } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return free;
}

const queued = async (app: RunningApplication): Promise<number> =>
  (await app.status()).deployments.find(({ name }) => name === 'sample')?.queued ?? -1;

Cluster.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-cluster-'));
  certificates = await ClusterFolder.make();
  port = await freePort();
  const { cert, key, ca, name } = await certificates.member('controller');
  served = await serveSample(folder, { cert, key, ca, name, listen: `127.0.0.1:${port}` });
});
Cluster.after(async () => {
  await served.end('SIGKILL');
  certificates[Symbol.dispose]();
  await rm(folder, { recursive: true, force: true });
});

Cluster('call deployments, read streams and see the state of the application', async () => {
  await using app = await attach(await certificates.member('other'));
  const sample = await app.handle('sample');
  assert.equal(await sample.call('echo', { text: 'hello' }), { text: 'hello', times: 1 });
  const values: unknown[] = [];
  for await (const batch of sample.stream('count', { to: 500 })) values.push(...batch);
  assert.is(values.length, 500);
  assert.is(app.pid, served.process.pid);
  assert.is((await app.status()).deployments.length, 2);
  const refused = await errorOf(app.openAudio({ path: '/etc/hostname' }));
  assert.match(refused.message, /a path names a file of the machine of the application/);
});

Cluster('are told that their certificate has expired', async () => {
  const { name, message } = await errorOf(attach(await certificates.member('old', { from: -3, until: -1 })));
  assert.is(name, 'MembershipRefused');
  assert.match(message, /its certificate has expired; the clock of this machine shows/);
});

Cluster('of another cluster refuse the application', async () => {
  const { name, message } = await errorOf(attach(await certificates.member('stranger', { name: 'other.test' })));
  assert.is(name, 'NotRunning');
  assert.match(message, /does not answer: its certificate is for DNS:cluster\.test, and not for other\.test/);
});

Cluster('of which none answers get a sentence', async () => {
  const { name, message } = await errorOf(attach(await certificates.member('other'), await freePort()));
  assert.is(name, 'NotRunning');
  assert.match(message, /^the application at 127\.0\.0\.1:\d+ does not answer: connect ECONNREFUSED/);
  const http = await errorOf(attach(await certificates.member('other'), Number(new URL(served.url).port)));
  assert.match(http.message, /does not answer: it does not speak TLS$/);
});

for (const text of [
  '8700',
  '127.0.0.1',
  ':8700',
  'https://127.0.0.1:8700',
  '127.0.0.1:0x21fc',
  '127.0.0.1:70000',
  '::1:8700',
])
  Cluster(`are not looked for at ${text}`, async () => {
    assert.is((await errorOf(connect({ address: text }))).name, 'InvalidInput');
  });

Cluster('that speak plain HTTP are told so, and garbage is not answered', async () => {
  const answerTo = async (bytes: string): Promise<string> => {
    const socket = connectTcp(port, '127.0.0.1');
    let answer = '';
    socket.on('data', (part) => (answer += part)).on('error', () => {});
    socket.write(bytes);
    await once(socket, 'close');
    return answer;
  };
  assert.match(await answerTo('GET /version HTTP/1.1\r\nhost: x\r\n\r\n'), /HttpsExpected/);
  assert.not.match(await answerTo('\x16\x03\x01\x00\x05hello'), /HTTP/);
});

Cluster('cannot reach an application whose port is taken, which leaves nothing open', async () => {
  const dir = await mkdtemp(join(folder, 'run-'));
  const membership = await Membership.open(await certificates.member('other'), silentLogger);
  const { name, message } = await errorOf(
    startControl({
      ...{ dir, at: { url: 'http://127.0.0.1:1', host: '127.0.0.1', port: 1 }, version: '1', log: silentLogger },
      ...{ callback: () => {}, handlers: {} as never, remote: { host: '127.0.0.1', port, membership } },
      limits: { header_timeout_s: 5, request_timeout_s: 5, keep_alive_timeout_s: 5 },
    }),
  );
  assert.is(name, 'ListenError');
  assert.match(message, /is already in use: .* or choose another port in cluster\.listen$/);
  assert.equal(await readdir(dir), []);
});

Cluster('that are silent lose their connection, and are told', async () => {
  await using passage = await passageTo(port);
  const app = await attach(await certificates.member('other'), passage.port);
  const sample = await app.handle('sample');
  passage.cut();
  await app.closed;
  const warnings: Error[] = [];
  const keep = (warning: Error): unknown => warnings.push(warning);
  process.on('warning', keep);
  for (let count = 0; count < 20; count += 1)
    assert.is((await errorOf(sample.call('echo', { text: 'x' }))).name, 'ConnectionLost');
  await new Promise(setImmediate); // warnings come later
  process.off('warning', keep);
  assert.equal(warnings, [], 'later calls leave nothing behind');
  await using other = await attach(await certificates.member('other'));
  assert.is((await errorOf(other.handle('none'))).name, 'DeploymentNotFound', 'others go on');
  assert.is((await errorOf(app.status())).name, 'ConnectionLost');
});

Cluster('and processes of this one do not count with their waiting calls while they are stopped', async () => {
  await using app = await connect({ runtime_dir: served.runtimeDir });
  const program = join(packageRoot, 'dist/host/apis/control/client/fixtures/attached.js');
  const args = [program, served.runtimeDir, 'untilCancelled', '205'];
  const other = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await until(async () => (await queued(app)) === 5);
    other.kill('SIGSTOP');
    await until(async () => (await queued(app)) === 0);
    other.kill('SIGCONT');
    await until(async () => (await queued(app)) === 5);
  } finally {
    other.kill('SIGKILL');
    await once(other, 'exit');
  }
  await until(async () => (await queued(app)) === 0);
});

if (hasOpenssl) Cluster.run();
else skip('other machines of a cluster', 'there is no openssl to make certificates with');
