// Hosts and a replica in one process: real calls and files, over connections that the test sees.
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { systemClock } from '../../../base/core/clock.ts';
import { cancelledError } from '../../../base/core/errors.ts';
import type { Artifact } from '../../../base/schemas/index.ts';
import { artifactOf } from '../../../io/artifacts/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { until } from '../fixtures/sample-sets.ts';
import { ReplicaWork } from '../process/replica-work.ts';
import type { CallRequest } from '../../rpc/frames.ts';
import { Connections } from './connections.ts';
import { ReplicaArtifacts } from './replica-artifacts.ts';

const Artifacts = suite('the artifacts of a replica');

let base = '';
let connections: Connections;
let artifacts: ReplicaArtifacts;

Artifacts.before.each(async () => {
  base = await mkdtemp(join(tmpdir(), 'aana-replica-'));
  connections = new Connections(8);
  artifacts = new ReplicaArtifacts(
    { roots: [join(base, 'nowhere')], copies: join(base, 'copies') },
    connections,
    silentLogger,
  );
  connections.serve({
    hash: async ({ file }) => sha256Of(await readFile(await artifacts.path(file as Artifact))),
    steal: ({ id }, { id: call }) => connections.host.call('read_artifact', { id, from: 0 }, { call }),
  });
});
Artifacts.after.each(async () => {
  await artifacts.close();
  assert.equal(await readdir(join(base, 'copies')).catch(() => []), []);
  await rm(base, { recursive: true });
});

const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

async function made(name: string, length: number): Promise<Artifact> {
  const path = join(base, 'host', 'scope', name);
  const bytes = randomBytes(length);
  await mkdir(join(base, 'host', 'scope'), { recursive: true });
  await writeFile(path, bytes);
  return await artifactOf(join(base, 'host'), path, sha256Of(bytes));
}

/** Connects a host, and collects what the replica asks of it. `passes` says which questions arrive. */
function connected(passes: (asked: CallRequest) => boolean = () => true) {
  const asked: unknown[] = [];
  const host = new ReplicaWork({
    ...{ deployment: 'sample', name: 'sample#1', clock: systemClock, artifactRoots: [join(base, 'host')] },
    send: (frame) => void setImmediate(() => replica.onFrame(frame as CallRequest)),
  });
  host.enter('loaded');
  const replica = connections.add((frame) => {
    if (frame.type === 'call') asked.push(frame.args['from']);
    if (frame.type === 'load' || (frame.type === 'call' && !passes(frame))) return;
    setImmediate(() => host.onFrame(frame));
  });
  return { host, asked, replica };
}

Artifacts('come from a place on over the connection of another call, when that of the first is cancelled', async () => {
  const file = await made('large', 2_000_000);
  const first = connected((asked) => asked.type !== 'call' || Number(asked.args['from']) === 0);
  const second = connected();
  const cancelling = new AbortController();
  const left = errorOf(first.host.call('hash', { file }, { signal: cancelling.signal }));
  await until(() => first.asked.length === 2, 'one part came, and the next one does not');
  const call = second.host.call('hash', { file }, {});
  await until(() => second.host.ongoing === 1 && connections.running().next().done === false, 'it waits, too');
  const reason = cancelledError('the client left');
  cancelling.abort(reason);
  assert.is(await left, reason);
  assert.is(await call, file.sha256);
  assert.equal(first.asked, [0, 524_288]);
  assert.equal(second.asked, [524_288, 1_048_576, 1_572_864]);
});

Artifacts('come over the connection of another host, when that of the first is lost', async () => {
  const file = await made('large', 600_000);
  const first = connected(() => false);
  const second = connected();
  const lost = errorOf(first.host.call('hash', { file }, {}));
  await until(() => first.asked.length === 1, 'the first one is asked');
  const call = second.host.call('hash', { file }, {});
  await new Promise<void>((resolve) => setImmediate(resolve)); // the replica has it
  first.replica.close();
  first.host.lose(null, 'its connection ended');
  assert.is((await lost).name, 'ReplicaLostError');
  assert.is(await call, file.sha256);
});

Artifacts('end with their call when the only connection is lost', async () => {
  const file = await made('large', 600_000);
  const only = connected(() => false);
  void only.host.call('hash', { file }, {}).catch(() => {});
  await until(() => only.asked.length === 1, 'it is asked');
  only.replica.close();
  await until(() => connections.running().next().done === true, 'the call has ended');
  const again = connected();
  assert.is(await again.host.call('hash', { file }, {}), file.sha256, 'the replica goes on');
});

Artifacts('are refused to a call that does not name them, although others do', async () => {
  const [mine, yours] = [await made('mine', 10), await made('yours', 20)];
  const { host } = connected();
  const other = host.call('hash', { file: yours }, {});
  const thief = await errorOf(host.call('steal', { id: yours.id, file: mine }, {}));
  assert.is(thief.name, 'ArtifactNotFound');
  assert.match(thief.message, 'no running call names it');
  assert.is(await other, yours.sha256);
});

Artifacts('that no call names are not asked for', async () => {
  const file = await made('file', 10);
  assert.match((await errorOf(artifacts.path(file))).message, 'no call names it');
});

Artifacts.run();
