// A host of the campaign in a separate process: `host.js <shared folder> <own folder> <log file>`. Sends its URL, and
// carries out orders.
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AanaApp, AanaError, createLogger, loadConfig } from 'aana-host'; // its bundle, which starts in half the time
import * as z from 'zod';
import { delay } from '../../../base/core/abort.ts';
import { BENCH_PLUGIN, type HostMessage, type HostOrder } from './protocol.ts';
import { EchoDeployment } from './echo-deployment.ts';
import { FAILURE, sha256 } from './works.ts';

/** The wall clock of this process. */
const clock = { aheadMs: 0 };
const RealDate = Date;
globalThis.Date = class extends RealDate {
  static override now = (): number => RealDate.now() + clock.aheadMs;
  constructor(...values: readonly [] | ConstructorParameters<DateConstructor>) {
    super(...((values.length === 0 ? [RealDate.now() + clock.aheadMs] : values) as [number]));
  }
} as DateConstructor;

const [shared = '', own = '', logFile = ''] = process.argv.slice(2);

const config = loadConfig({
  cwd: shared,
  env: process.env,
  base: {
    data_dir: join(shared, 'data'),
    runtime_dir: join(own, 'run'),
    devices: { gpus: [] },
    media: { temp_dir: join(shared, 'temp') },
    task_queue: { heartbeat_timeout: 2, max_retries: 100, num_workers: 8 },
    webhook: {
      allow_private_urls: true,
      retry_delay: 0.2,
      max_retry_delay: 1,
      retry_attempts: 100,
      disable_after_failures: 1000,
      max_concurrent_per_target: 50,
    },
  },
});
const log = createLogger({ level: 'info', format: 'text', write: (line) => appendFileSync(logFile, line) });
const app = new AanaApp({ config, log, progress: { write: () => true } });
const Input = z.strictObject({
  n: z.int(),
  count: z.int().default(0),
  file: z.string().meta({ 'x-aana-file': true }).optional(),
});
const output = z.any();
// The endpoints wait longer than they work, so that a strike meets some of their runs.

app.registerDeployment('echo', EchoDeployment.options({ num_replicas: 2, max_ongoing_requests: 8 }));
app.registerPlugins(BENCH_PLUGIN);
app.registerEndpoint({
  name: 'hash',
  path: '/campaign/hash',
  input: Input,
  output,
  run: async ({ n, file = '' }, { files, signal }) => {
    await delay(n % 100, signal);
    return { n, sha256: sha256(await readFile(files.get(file)?.path ?? '')) };
  },
});
app.registerEndpoint({
  name: 'own_stream',
  path: '/campaign/stream',
  input: Input,
  output,
  run: async function* ({ n, count }, { signal }) {
    for (let index = 0; index < count; index += 1) {
      await delay(15, signal);
      yield { n, index };
    }
  },
});
app.registerEndpoint({
  name: 'replica',
  path: '/campaign/replica',
  input: Input,
  output,
  run: ({ n }) => app.handle(EchoDeployment, 'echo').echo({ text: `task ${n}`, id: randomUUID() }),
});
app.registerEndpoint({
  name: 'replica_stream',
  path: '/campaign/replica_stream',
  input: Input,
  output,
  run: async function* ({ n, count }) {
    const indexes = app.handle(EchoDeployment, 'echo').count({ to: count, id: randomUUID() });
    for await (const index of indexes) yield { n, index };
  },
});
app.registerEndpoint({
  name: 'fail',
  path: '/campaign/fail',
  input: Input,
  output,
  run: async ({ n }) => {
    throw new AanaError(FAILURE, 'bad-request', `video ${n} is too long`);
  },
});
const say = (message: HostMessage): void => void process.send?.(message, undefined, undefined, () => {});
const carryOut = async (order: HostOrder): Promise<void> => {
  switch (order.kind) {
    case 'clock':
      clock.aheadMs = order.ms;
      return;
    case 'unload':
      return app.unloadDeployment(order.deployment);
    case 'load':
      return app.loadDeployment(order.deployment);
  }
};
process.on('message', (order: HostOrder) => void carryOut(order).then(() => say({ done: true })));
process.on('disconnect', () => void app.shutdown({ graceMs: 0 }).then(() => process.exit(0)));
// The campaign disconnected before there was a listener.
if (!process.connected) process.exit(0);
await app.listen({ host: '127.0.0.1', port: 0 });
await app.deploy();
// The campaign may have ended while this host started. Then `disconnect` ends the host.
say({ url: app.url ?? '' });
