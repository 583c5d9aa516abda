// Hosts that call the replicas of a deployment manager directly: real replicas and real sockets.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { ClusterFolder } from '../../../base/certificates/fixtures/cluster-files.ts';
import { hasOpenssl } from '../../../base/certificates/fixtures/certificates.ts';
import { type MemberFiles, Membership } from '../../../base/certificates/index.ts';
import { deferred } from '../../../base/core/deferred.ts';
import { fail } from '../../../base/core/errors.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { skip } from '../../../test/skip.ts';
import { until } from '../../replicas/fixtures/sample-sets.ts';
import { RelayDeployment } from '../fixtures/relay-deployment.ts';
import { SampleDeployment } from '../fixtures/sample-deployment.ts';
import { SentimentDeployment } from '../fixtures/sentiment-deployment.ts';
import type { DeploymentHandle } from '../handle/deployment-handle.ts';
import { DeploymentManager } from '../manager/deployment-manager.ts';
import { bind, type BoundDeployment } from '../class/bound-deployment.ts';
import type { DeploymentOptionsInput } from '../class/deployment-options.ts';
import { RoutedDeployments } from './routed-deployments.ts';
import { HostReport, TableChange } from './table.ts';

const none = z.strictObject({});
const Sample = {
  ...SampleDeployment,
  prepare: async () => ({}),
  methods: {
    ...SampleDeployment.methods,
    together: {
      description: 'Returns the most calls of it that ran at the same time.',
      input: z.strictObject({ ms: z.number() }),
      output: z.int(),
      streaming: false,
    },
    untilCancelled: { description: 'Waits.', input: none, output: z.null(), streaming: false },
    failInference: { description: 'Fails.', input: none, output: z.null(), streaming: false },
    sums: {
      description: 'Adds up.',
      input: none,
      output: z.number(),
      streaming: true,
      feed: { name: 'numbers', value: z.number() },
    },
  },
} as typeof SampleDeployment;

let folder = '';
const managers = new Set<DeploymentManager>();
const hosts = new Set<Host>();

/** How hosts reach replicas: those of this machine, and those of others, with certificates. */
interface Transport {
  readonly remote?: { readonly host: string; readonly member: MemberFiles };
  readonly membership?: Membership;
}

let transport: Transport = {};

type Given = Record<string, BoundDeployment | Omit<DeploymentOptionsInput, 'type'>>;

/** Starts deployments of the sample class. */
async function started(deployments: Given, socketsDir = folder): Promise<DeploymentManager> {
  const manager = new DeploymentManager({
    ...{ log: silentLogger, env: process.env, socketsDir, definitions: [Sample], remote: transport.remote },
    models: { pull: async (id) => ({ path: id }) },
  });
  managers.add(manager);
  for (const [name, options] of Object.entries(deployments))
    manager.register(name, 'definition' in options ? options : { type: 'SampleDeployment', ...options });
  await manager.start();
  return manager;
}

interface Host {
  readonly routed: RoutedDeployments;
  handle(name: string, retry?: object): DeploymentHandle;
  leave(): void;
}

/** Returns a host that has the table of the manager. Everything passes through JSON and its schemas. */
async function hostOf(manager: DeploymentManager, knows = false): Promise<Host> {
  const ending = new AbortController();
  const { membership } = transport;
  const definitionOf = () => (knows ? Sample : undefined);
  const routed = new RoutedDeployments({ log: silentLogger, definitionOf, membership });
  const first = deferred();
  const reports = async function* (): AsyncGenerator<unknown> {
    for await (const report of routed.reports) yield HostReport.parse(JSON.parse(JSON.stringify(report)));
  };
  const follow = async (): Promise<void> => {
    for await (const change of manager.watch(reports(), ending.signal)) {
      routed.take(TableChange.parse(JSON.parse(JSON.stringify(change))));
      first.resolve();
    }
  };
  const holding = setInterval(() => {}, 60_000); // attached processes hold themselves while a call runs or waits
  const leave = (): void => {
    clearInterval(holding);
    ending.abort();
    routed.close(fail('ConnectionLost', 'the host has left', { data: { url: '' } }));
  };
  const host: Host = { routed, leave, handle: (name, retry = {}) => routed.handle(name, {}, retry) };
  hosts.add(host);
  void follow().catch(first.reject);
  await first.promise;
  return host;
}

const ongoing = (manager: DeploymentManager, name = 'sample'): number =>
  manager.status()[name]?.replicas.reduce((sum, replica) => sum + replica.ongoing, 0) ?? -1;
const pids = (manager: DeploymentManager): (number | undefined)[] =>
  manager.status()['sample']?.replicas.map(({ pid }) => pid) ?? [];

function overTransport(name: string, open: () => Promise<Transport>): void {
  const Routing = suite(`hosts that call replicas of another process over ${name}`);

  Routing.before(async () => {
    transport = await open();
  });

  Routing.before.each(async () => {
    folder = await mkdtemp(join(tmpdir(), 'aana-routing-'));
  });
  Routing.after.each(async () => {
    for (const host of hosts) host.leave();
    await Promise.all([...managers].map((manager) => manager.shutdown({ graceMs: 0 })));
    hosts.clear();
    managers.clear();
    assert.equal(await readdir(folder), [], 'replicas that have ended leave no sockets');
    await rm(folder, { recursive: true, force: true });
  });

  Routing('share a replica that takes one call at a time, in turns, with the process that started it', async () => {
    const manager = await started({ sample: { max_ongoing_requests: 1, max_queued_requests: 200 } });
    const handles = [manager.handle('sample'), (await hostOf(manager)).handle('sample')];
    handles.push((await hostOf(manager, true)).handle('sample'));
    const order: number[] = [];
    const all = handles.flatMap((handle, host) =>
      Array.from({ length: 20 }, async () => {
        const most = await handle.call('together', { ms: 1 });
        order.push(host);
        return most;
      }),
    );
    assert.equal(new Set(await Promise.all(all)), new Set([1]), 'never two at once');
    // With turns, no host has ended all of its calls while another one has ended few of them.
    for (const host of [0, 1, 2]) {
      const half = order.slice(0, order.lastIndexOf(host) + 1);
      for (const other of [0, 1, 2])
        assert.ok(half.filter((one) => one === other).length >= 5, `${host} before ${other}: ${order.join('')}`);
    }
    await until(() => ongoing(manager) === 0, 'no place is kept');
  });

  Routing('repeat a call whose replica was killed on another one, and see the next replica', async () => {
    const manager = await started({ sample: { num_replicas: 2, max_ongoing_requests: 20 } });
    const [one, other] = [await hostOf(manager), await hostOf(manager)];
    const calls = [one, other].flatMap((host) =>
      Array.from({ length: 10 }, () => host.handle('sample').call('wait', { ms: 1000 })),
    );
    await until(() => ongoing(manager) === 20, 'all calls run');
    const [pid] = pids(manager);
    process.kill(pid ?? 0, 'SIGKILL');
    assert.equal(
      await Promise.all(calls),
      Array.from({ length: 20 }, () => 1000),
    );
    const seen = new Set<unknown>();
    await until(async () => {
      seen.add(await one.handle('sample').call('pid', {}));
      return seen.size === 2;
    }, 'the new replica answers');
    assert.not.ok(seen.has(pid));
  });

  Routing('give a call that a replica had not begun to another one, and do not suspect it', async () => {
    const manager = await started({ sample: { num_replicas: 2 } });
    for (const handle of [manager.handle('sample'), (await hostOf(manager)).handle('sample')]) {
      const isReady = ({ state }: { readonly state: string }): boolean => state === 'ready';
      await until(() => manager.status()['sample']?.replicas.every(isReady) === true, 'both replicas are ready');
      const stopped = pids(manager) as number[];
      for (const pid of stopped) process.kill(pid, 'SIGSTOP');
      const calls = Promise.all(Array.from({ length: 8 }, () => handle.call('echo', { text: 'x' })));
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve)); // they are sent
      for (const pid of stopped) process.kill(pid, 'SIGKILL');
      for (const answer of await calls) assert.equal(answer, { text: 'x', times: 1 });
    }
  });

  Routing('lose no call while replicas are replaced and while the bounds change', async () => {
    const manager = await started({ sample: { num_replicas: 2, max_ongoing_requests: 2, max_queued_requests: 500 } });
    const host = (await hostOf(manager)).handle('sample');
    let isDone = false;
    const answers: unknown[] = [];
    const work = Array.from({ length: 6 }, async () => {
      while (!isDone) answers.push(await host.call('wait', { ms: 5 }));
    });
    const changed = { num_replicas: 2, max_ongoing_requests: 4, max_queued_requests: 500 };
    await manager.update(
      'sample',
      { type: 'SampleDeployment', ...changed, user_config: { model: 'b' } },
      { watchS: 0 },
    );
    await manager.scale('sample', 1);
    isDone = true;
    await Promise.all(work);
    assert.ok(answers.length > 0 && answers.every((answer) => answer === 5));
  });

  Routing('wake a sleeping deployment, keep it awake, and are forgotten when they leave', async () => {
    const scaling = { min_replicas: 0, max_replicas: 1, downscale_delay_s: 0.5, upscale_delay_s: 0 };
    const manager = await started({ sample: { autoscaling_config: scaling } });
    const host = await hostOf(manager);
    assert.is(pids(manager).length, 0);
    assert.is(
      await host.handle('sample').call('wait', { ms: 1500 }),
      1500,
      'longer than the time until it would sleep',
    );
    const waiting = host
      .handle('sample')
      .call('untilCancelled', {})
      .catch(() => {});
    await until(() => ongoing(manager) === 1, 'the call runs');
    host.leave();
    await waiting;
    await until(() => pids(manager).length === 0, 'the deployment sleeps again');
  });

  Routing('see the errors with which calls are refused', async () => {
    const manager = await started({ sample: { max_ongoing_requests: 1, max_queued_requests: 1 } });
    const host = await hostOf(manager);
    const handle = host.handle('sample');
    const signal = new AbortController();
    const running = errorOf(handle.call('untilCancelled', {}, { signal: signal.signal }));
    await until(() => ongoing(manager) === 1, 'the call runs');
    const waiting = errorOf(handle.call('pid', {}));
    assert.is((await errorOf(handle.call('pid', {}))).name, 'DeploymentFull');
    await until(() => manager.status()['sample']?.queued === 1, 'the waiting call counts');
    await manager.unload('sample', { graceMs: 0 });
    assert.match((await waiting).name, /^Deployment(Stopped|Unloaded)$/);
    assert.is((await running).name, 'DeploymentUnloaded');
    assert.is((await errorOf(handle.call('pid', {}))).name, 'DeploymentUnloaded');
    await manager.load('sample');
    await until(async () => typeof (await handle.call('pid', {}).catch(() => '')) === 'number', 'it is loaded');
    await manager.remove('sample', { graceMs: 0 });
    await until(async () => (await errorOf(handle.call('pid', {}))).name === 'DeploymentNotFound', 'it is removed');
  });

  Routing('count for the health of replicas', async () => {
    const manager = await started({ sample: { health_check_period_s: 0.3 } });
    const handle = (await hostOf(manager)).handle('sample');
    const [pid] = pids(manager);
    await until(async () => {
      await errorOf(handle.call('failInference', {}));
      return pids(manager)[0] !== pid;
    }, 'the replica is replaced');
  });

  Routing('send feeds, which nothing is taken of before the call has a place', async () => {
    const manager = await started({ sample: { max_ongoing_requests: 1 } });
    const [one, other] = [await hostOf(manager), await hostOf(manager, true)];
    const sums = async (host: Host): Promise<unknown[]> => {
      const numbers = async function* (): AsyncGenerator<number> {
        for (let number = 1; number <= 40; number += 1) yield number;
      };
      const values: unknown[] = [];
      for await (const batch of host.handle('sample').stream('sums', { numbers: numbers() })) values.push(...batch);
      return values;
    };
    const results = await Promise.all([one, other, one, other, one, other].map(sums));
    for (const values of results) assert.equal([values.length, values.at(-1)], [40, 820]);
  });

  Routing('answer what replicas ask for their calls, and check arguments by the class', async () => {
    const manager = await started({
      sentiment: SentimentDeployment.options({ max_ongoing_requests: 4 }),
      relay: RelayDeployment.options({ max_ongoing_requests: 4 }),
    });
    const host = (await hostOf(manager)).handle('relay');
    const asked = { method: 'classify', args: { text: 'good' } };
    assert.equal(await host.call('ask', asked), { label: 'positive', score: 1 });
    const words: unknown[] = [];
    for await (const batch of host.stream('words', { text: 'a b c' })) words.push(...batch);
    assert.equal(words, [{ word: 'a' }, { word: 'b' }, { word: 'c' }]);
    assert.is((await errorOf(host.call('ask', { ...asked, key: 'none' }))).name, 'HandleNotDeclared');
    assert.match((await errorOf(host.call('ask', {}))).message, /^relay\.ask: method: /);
    // JSON Schema has no refinements, so that the replica finds this mistake.
    const { name, message } = await errorOf(host.call('first_word', { text: ' a' }));
    assert.equal(
      [name, message],
      ['ValidationError', 'relay.first_word: text: Value error, Must not begin with a space'],
    );
  });

  Routing(
    'begin no calls while the application drains, and end a call that runs with the calls that it makes',
    async () => {
      const manager = await started({
        sentiment: SentimentDeployment.options({ max_ongoing_requests: 4 }),
        relay: RelayDeployment.options({ max_ongoing_requests: 4 }),
      });
      const host = await hostOf(manager);
      const drained = deferred();
      const begun = deferred();
      const texts = async function* (): AsyncGenerator<string> {
        yield 'good';
        await drained.promise;
        yield 'bad';
      };
      const labels: string[] = [];
      const read = async (): Promise<void> => {
        for await (const batch of host.handle('relay').stream('classify_each', { texts: texts() })) {
          labels.push(...(batch as { label: string }[]).map(({ label }) => label));
          begun.resolve();
        }
      };
      const reading = read();
      await begun.promise;
      const relay = host.handle('relay');
      const refused = (): Promise<boolean> =>
        relay.call('passed', {}).then(
          () => false,
          ({ name }: Error) => name === 'HostDraining',
        );
      manager.drain(true);
      await until(refused, 'calls are refused');
      const stream = async (): Promise<void> => {
        for await (const _ of relay.stream('words', { text: 'a' }));
      };
      assert.is((await errorOf(stream())).name, 'HostDraining');
      const late = (await hostOf(manager)).handle('relay');
      assert.is((await errorOf(late.call('passed', {}))).name, 'HostDraining');
      drained.resolve();
      await reading;
      assert.equal(labels, ['positive', 'negative']);
      assert.is(await manager.handle('relay').call('passed', {}), 0, 'the controller calls for its running requests');
      manager.drain(false);
      await until(async () => !(await refused()), 'calls are taken again');
      assert.is(await late.call('passed', {}), 0);
    },
  );

  Routing('get texts of images that the present version of the reader has read, each once', async () => {
    const { methods } = Sample;
    const dialogs = z.strictObject({ dialog: z.record(z.string(), z.unknown()) });
    const Chat = {
      ...{ ...Sample, name: 'ChatDeployment', optionalHandles: { ocr: 'recognize' } },
      methods: { echo: { ...methods.echo, input: dialogs } },
    } as unknown as typeof Sample;
    const recognize = { ...methods.echo, input: z.strictObject({ image: z.record(z.string(), z.unknown()) }) };
    const Reader = { ...SampleDeployment, methods: { recognize } } as unknown as typeof Sample;
    const readerWith = (user_config: object): BoundDeployment => bind(Reader, { user_config }, 'reader');
    const manager = await started({
      chat: bind(Chat, { handles: { ocr: 'reader' } }, 'chat'),
      reader: readerWith({ tone: 'first' }),
    });
    const handles = [manager, await hostOf(manager)].map((host) => host.handle('chat'));
    const image = { pixels: { sha256: 'a' }, width: 1 };
    const dialog = { messages: [{ role: 'user', content: [{ type: 'image', image }] }] };
    const textOf = async (handle: DeploymentHandle): Promise<string> => {
      const answer = (await handle.call('echo', { dialog })) as { readonly dialog: typeof dialog };
      return String(answer.dialog.messages[0]?.content).split('\n> ')[1] ?? '';
    };
    const changes = [
      ['small first', undefined],
      ['small second', { tone: 'second' }], // in place
      ['large second', { tone: 'second', model: 'large' }], // by other replicas
    ] as const;
    for (const [text, user_config] of changes) {
      if (user_config) await manager.update('reader', readerWith(user_config), { watchS: 0 });
      for (const [host, handle] of handles.entries()) {
        await until(async () => (await textOf(handle)).startsWith(text), `host ${host} reads "${text}"`);
        assert.is(await textOf(handle), await textOf(handle), `host ${host} reads once`);
      }
    }
  });

  Routing('end with ValidationError when a report is wrong', async () => {
    const manager = await started({});
    const reports = async function* (): AsyncGenerator<unknown> {
      yield { waiting: [{ deployment: 'sample', count: -1 }], outcomes: [] };
    };
    const read = async (): Promise<void> => {
      for await (const _ of manager.watch(reports(), new AbortController().signal));
    };
    assert.match((await errorOf(read())).message, /^report of a host: waiting\.0\.count: /);
  });

  Routing('are told when replicas could not listen', async () => {
    const manager = await started({ sample: {} }, '/dev/null/no-folder');
    const { message } = await errorOf((await hostOf(manager)).handle('sample').call('together', { ms: 0 }));
    assert.match(message, /the replicas of deployment sample cannot be reached by other processes/);
    assert.is(await manager.handle('sample').call('together', { ms: 0 }), 1);
  });

  Routing('that leave end their calls, also on a replica that finishes its calls', async () => {
    const manager = await started({ sample: { num_replicas: 2, max_ongoing_requests: 1, drain_timeout_s: 60 } });
    const host = await hostOf(manager);
    const calls = [0, 1].map(() => errorOf(host.handle('sample').call('untilCancelled', {})));
    await until(() => ongoing(manager) === 2, 'both replicas have a call');
    const scaled = manager.scale('sample', 1);
    await until(
      () => manager.status()['sample']?.replicas.some(({ state }) => state === 'draining') ?? false,
      'one ends',
    );
    host.leave();
    for (const call of calls) assert.is((await call).name, 'ConnectionLost');
    await scaled;
  });

  Routing.run();
}

let cluster: ClusterFolder | undefined;
process.on('exit', () => cluster?.[Symbol.dispose]());

overTransport('Unix sockets', async () => ({}));
if (hasOpenssl)
  overTransport('TLS', async () => {
    cluster = await ClusterFolder.make();
    const member = await cluster.member('machine');
    return { remote: { host: '127.0.0.1', member }, membership: await Membership.open(member, silentLogger) };
  });
else skip('hosts that call replicas over TLS', 'there is no openssl to make certificates with');
