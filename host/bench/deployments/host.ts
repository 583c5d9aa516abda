// A host with one replica in a separate process. Started by ../deployments.ts, which sends it jobs. In a cluster it
// also calls the replica as other processes do, of its machine and of others.
import { connect } from '../../apis/control/client/index.ts';
import { AanaApp, type HandleOf, loadConfig, silentLogger } from '../../index.ts';
import { NoopDeployment } from './noop-deployment.ts';
import type { CallJob, CallResult, FromHost } from './protocol.ts';

const STREAM_VALUES = 100;
/** Milliseconds between two values of `tokens`. */
const TOKEN_MS = 3;
const TEXT = 'a sentence of ordinary length for the benchmark, and another one'.repeat(16);

type Noop = HandleOf<typeof NoopDeployment>;

const WORK: Readonly<Record<CallJob['work'], (handle: Noop) => Promise<unknown>>> = {
  noop: (handle) => handle.noop(),
  echo: (handle) => handle.echo({ text: TEXT }),
  alone: (handle) => handle.alone(),
  together: (handle) => handle.together(),
  stream: async (handle) => {
    for await (const _ of handle.count({ to: STREAM_VALUES }));
  },
  tokens: async (handle) => {
    for await (const _ of handle.count({ to: STREAM_VALUES, everyMs: TOKEN_MS }));
  },
};

async function run(handle: Noop, { work, inFlight, ms }: CallJob): Promise<CallResult> {
  const latencies: number[] = [];
  const before = process.cpuUsage();
  const startedAt = performance.now();
  const until = startedAt + ms;
  const one = async (): Promise<void> => {
    for (let now = performance.now(); now < until;) {
      const sentAt = now;
      await WORK[work](handle);
      now = performance.now();
      latencies.push(now - sentAt);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, one));
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(before);
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(share * (latencies.length - 1))] ?? Number.NaN;
  return { calls: latencies.length, seconds, p50Ms: at(0.5), p99Ms: at(0.99), hostCpuMicroseconds: user + system };
}

const send = (message: FromHost): unknown => process.send?.(message);

const config = loadConfig({ cwd: '/', env: process.env });
const app = new AanaApp({ config, log: silentLogger, progress: { write: () => true } });
app.registerDeployment('noop', NoopDeployment.options({ max_ongoing_requests: 256 }));
await app.connect({ port: 0 });
await app.deploy();
const handles: Record<string, Noop> = { own: app.handle(NoopDeployment, 'noop') };
const { listen: address } = config.cluster;
if (address !== null) {
  const attached = { unix: await connect({ runtime_dir: config.runtime_dir }), tls: await connect({ address }) };
  for (const [over, { handle }] of Object.entries(attached)) handles[over] = (await handle('noop')) as unknown as Noop;
}
process.on(
  'message',
  (job: CallJob) => void run(handles[job.over]!, job).then((result) => send({ type: 'result', result })),
);
process.on('disconnect', () => void app.shutdown({ graceMs: 0 }));
send({ type: 'ready' });
