// Replicas of another machine behind a network that loses everything without a word: real replicas, TLS and sockets.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { hasOpenssl } from '../../../base/certificates/fixtures/certificates.ts';
import { ClusterFolder } from '../../../base/certificates/fixtures/cluster-files.ts';
import { type MemberFiles, Membership } from '../../../base/certificates/index.ts';
import { deferred } from '../../../base/core/deferred.ts';
import { fail } from '../../../base/core/errors.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { type Passage, passageTo } from '../../rpc/fixtures/passage.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { skip } from '../../../test/skip.ts';
import { until } from '../../replicas/fixtures/sample-sets.ts';
import { SampleDeployment } from '../fixtures/sample-deployment.ts';
import type { DeploymentHandle } from '../handle/deployment-handle.ts';
import { DeploymentManager } from '../manager/deployment-manager.ts';
import { RoutedDeployments } from './routed-deployments.ts';
import type { TableChange } from './table.ts';

const Silence = suite('replicas of another machine that are silent');

const Sample = {
  ...SampleDeployment,
  prepare: async () => ({}),
  methods: {
    ...SampleDeployment.methods,
    block: {
      description: 'Blocks the event loop.',
      input: z.strictObject({ ms: z.number() }),
      output: z.string(),
      streaming: false,
    },
  },
} as typeof SampleDeployment;

let folder = '';
let cluster: ClusterFolder;
let member: MemberFiles;
let manager: DeploymentManager;
let handle: DeploymentHandle;
let leave: () => void;
/** The way to each replica, by its name. */
const passages = new Map<string, Passage>();

/** Puts a passage before each replica of the table. */
async function withPassages(change: TableChange): Promise<TableChange> {
  for (const { routes } of change.changed)
    for (const { name, address } of routes.replicas) {
      if (!address.tcp) continue;
      const passage = passages.get(name) ?? (await passageTo(address.tcp.port));
      passages.set(name, passage);
      address.tcp.port = passage.port;
    }
  return change;
}

Silence.before(async () => {
  cluster = await ClusterFolder.make();
  member = await cluster.member('machine');
});
Silence.before.each(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-silence-'));
  manager = new DeploymentManager({
    ...{ log: silentLogger, env: process.env, socketsDir: folder, definitions: [Sample] },
    models: { pull: async (id) => ({ path: id }) },
    remote: { host: '127.0.0.1', member },
  });
  manager.register('sample', { type: 'SampleDeployment', num_replicas: 2, max_ongoing_requests: 8 });
  await manager.start();
  const membership = await Membership.open(member, silentLogger);
  const routed = new RoutedDeployments({ log: silentLogger, definitionOf: () => Sample, membership });
  const ending = new AbortController();
  const holding = setInterval(() => {}, 60_000); // attached processes hold themselves while a call runs or waits
  const first = deferred();
  const follow = async (): Promise<void> => {
    for await (const change of manager.watch(routed.reports, ending.signal)) {
      routed.take(await withPassages(JSON.parse(JSON.stringify(change)) as TableChange));
      first.resolve();
    }
  };
  void follow().catch(first.reject);
  await first.promise;
  handle = routed.handle('sample', {});
  leave = () => {
    clearInterval(holding);
    ending.abort();
    routed.close(fail('ConnectionLost', 'the host has left', { data: { url: '' } }));
  };
  const seen = new Set<unknown>();
  await until(async () => seen.add(await handle.call('pid', {})).size === 2, 'both replicas answer');
});
Silence.after.each(async () => {
  leave();
  await manager.shutdown({ graceMs: 0 });
  for (const passage of passages.values()) await passage[Symbol.asyncDispose]();
  passages.clear();
  await rm(folder, { recursive: true, force: true });
});
Silence.after(() => cluster[Symbol.dispose]());

const replica = (index: number): { readonly name: string; readonly pid: number; readonly ongoing: number } => {
  const { name, pid, ongoing } = manager.status()['sample']?.replicas[index] ?? assert.unreachable() ?? ({} as never);
  return { name, pid: pid ?? 0, ongoing };
};

Silence('do not keep calls that they have not begun, and get none until they are heard again', async () => {
  const [cut, other] = [replica(0), replica(1)];
  passages.get(cut.name)?.cut();
  const pids = await Promise.all(Array.from({ length: 12 }, () => handle.call('pid', {})));
  assert.equal(new Set(pids), new Set([other.pid]));
  passages.get(cut.name)?.mend();
  await until(async () => (await handle.call('pid', {})) === cut.pid, 'it takes calls again');
});

Silence('lose the calls that they have begun, which are repeated, and forget those of the host', async () => {
  const ending = new AbortController();
  const calls = [0, 1].map(() => errorOf(handle.call('wait', { ms: 600_000 }, { signal: ending.signal }), Error));
  await until(() => replica(0).ongoing === 1 && replica(1).ongoing === 1, 'each has a call');
  passages.get(replica(0).name)?.cut();
  await until(() => replica(0).ongoing === 0 && replica(1).ongoing === 2, 'both calls are on the other one');
  const reason = new Error('it has seen enough');
  ending.abort(reason);
  assert.equal(await Promise.all(calls), [reason, reason]);
});

Silence('keep the calls that they have begun while their event loop is busy', async () => {
  const pid = Number(await handle.call('pid', {}));
  const stream = async (): Promise<unknown[]> => {
    const values: unknown[] = [];
    for await (const batch of handle.stream('count', { to: 60, everyMs: 100 })) values.push(...batch);
    return values;
  };
  const streams = [stream(), stream()]; // one on each
  const blocked = Promise.all([handle.call('block', { ms: 4000 }), handle.call('block', { ms: 4000 })]);
  for (const values of await Promise.all(streams)) assert.is(values.length, 60);
  await blocked;
  assert.ok([replica(0).pid, replica(1).pid].includes(pid), 'no replica was replaced');
});

Silence('are found also if they are stopped', async () => {
  const [stopped, other] = [replica(0), replica(1)];
  process.kill(stopped.pid, 'SIGSTOP');
  try {
    const pids = await Promise.all(Array.from({ length: 12 }, () => handle.call('pid', {})));
    assert.equal(new Set(pids), new Set([other.pid]));
  } finally {
    process.kill(stopped.pid, 'SIGCONT');
  }
});

if (hasOpenssl) Silence.run();
else skip('replicas of another machine that are silent', 'there is no openssl to make certificates with');
