// Deployments that call deployments, in real replicas: relay → sentiment, and outer → relay → sentiment.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { UsageMeter } from '../../../base/core/usage/usage-meter.ts';
import { RequestScope } from '../../../base/core/async/request-scope.ts';
import { AsyncQueue } from '../../../base/core/async/async-queue.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { ReaderDeployment } from '../../../application/fixtures/reader-deployment.ts';
import { artifactOf } from '../../../io/artifacts/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { until } from '../../replicas/fixtures/sample-sets.ts';
import { DeploymentManager, type DeploymentManagerOptions } from '../manager/deployment-manager.ts';
import { RelayDeployment } from '../fixtures/relay-deployment.ts';
import { SentimentDeployment } from '../fixtures/sentiment-deployment.ts';
import type { HandleOf } from '../handle/typed-handle.ts';

const Called = suite('a deployment that calls others');

type Relay = HandleOf<typeof RelayDeployment>;
type Facts = Record<string, unknown>;

const open = new Set<DeploymentManager>();
const newManager = (artifacts?: DeploymentManagerOptions['artifacts']): DeploymentManager => {
  const models = { pull: async (id: string) => ({ path: id }) };
  const manager = new DeploymentManager({ log: silentLogger, models, env: process.env, artifacts });
  open.add(manager);
  return manager;
};

let shared: DeploymentManager;
let outer: Relay;
let relay: Relay;
let sentiment: HandleOf<typeof SentimentDeployment>;

Called.before(async () => {
  shared = await started();
  outer = shared.handle('outer') as Relay;
  relay = shared.handle('relay') as Relay;
  sentiment = shared.handle('sentiment') as typeof sentiment;
});
Called.after(async () => {
  await Promise.all([...open].map((manager) => manager.shutdown({ graceMs: 0 })));
});

async function started(sequential = true): Promise<DeploymentManager> {
  const manager = newManager();
  // Callers come first, and start last.
  manager.register('outer', RelayDeployment.options({ handles: { next: 'relay' } }));
  manager.register('relay', RelayDeployment.options());
  manager.register('sentiment', SentimentDeployment.options({ num_replicas: 2, max_ongoing_requests: 10 }));
  await manager.start({ sequential });
  return manager;
}

const ask = async (handle: Relay, method: string, args = {}, options = {}): Promise<Facts> =>
  (await handle.ask({ method, args }, options)) as Facts;

Called('answers through the host, with streams, feeds and descriptions', async () => {
  assert.equal(await ask(relay, 'classify', { text: 'great' }), { label: 'positive', score: 1 });
  const words: string[] = [];
  const text = Array.from({ length: 1000 }, (_, n) => `w${n}`).join(' ');
  const stream = outer.words({ text });
  for (let step = await stream.next(); ; step = await stream.next()) {
    if (step.done) {
      assert.equal(step.value, { count: 1000 }, 'what the method returned');
      break;
    }
    words.push(step.value.word);
  }
  assert.is(words.join(' '), text);
  async function* texts(): AsyncGenerator<string> {
    for (let n = 0; n < 200; n += 1) yield n % 2 === 0 ? 'good' : 'bad';
  }
  const labels: unknown[] = [];
  for await (const label of relay.judge({ texts: texts() })) labels.push(label);
  assert.equal([labels.length, labels[0], labels[199]], [200, { label: 'positive' }, { label: 'negative' }]);
  assert.equal(await relay.described(), JSON.parse(JSON.stringify(sentiment.methods)));
});

Called('asks for no more of a stream than its reader takes', async () => {
  const text = Array.from({ length: 5000 }, () => 'word').join(' ');
  const before = await relay.passed();
  const stream = outer.words({ text: `${text} wait` });
  for (let n = 0; n < 10; n += 1) await stream.next();
  let passed = -1;
  await until(async () => passed === (passed = await relay.passed()), 'the stream stands still');
  assert.ok(passed < 1000 + before, `${passed - before} words were asked for`);
  let read = 10;
  for await (const { word } of stream) {
    read += 1;
    if (word === 'wait') break;
  }
  assert.is(read, 5001);
});

Called('can call when it loads, because the others are ready before', async () => {
  assert.is(((await relay.first()) as Facts)['broken'], null);
  assert.is(((await outer.first()) as Facts)['requestId'], null);
});

Called('passes the facts of the request on, through all levels', async () => {
  const deadlineAt = performance.now() + 60_000;
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const given = { requestId: 'r-7', userId: 'Zoë', priority: 7, deadlineAt, traceparent };
  const asked = { method: 'ask', args: { method: 'facts' } };
  const told = (await outer.ask(asked, given)) as Facts;
  assert.equal([told['requestId'], told['userId'], told['priority']], ['r-7', 'Zoë', 7]);
  assert.is(String(told['traceparent']).slice(3, 35), traceparent.slice(3, 35));
  assert.ok(Number(told['leftMs']) > 0 && Number(told['leftMs']) <= 60_000);
});

Called('measures all calls for the request', async () => {
  const calls: string[] = [];
  const meter = {
    maxOutputTokens: undefined,
    call: (deployment: string) => {
      calls.push(deployment);
      return { computed: () => {}, values: () => {}, heard: () => {}, end: () => calls.push(`${deployment} ended`) };
    },
  } as unknown as UsageMeter;
  await outer.ask({ method: 'ask', args: { method: 'facts' } }, { meter });
  assert.equal(
    calls.filter((call) => !call.endsWith('ended')),
    ['outer', 'relay', 'sentiment'],
  );
});

Called('calls from a batch for the request whose context it gives', async () => {
  const meterOf = (calls: string[]): UsageMeter => {
    const call = (name: string) => {
      calls.push(name);
      return { computed: () => {}, values: () => {}, heard: () => {}, end: () => {} };
    };
    return { call } as unknown as UsageMeter;
  };
  const made: Record<string, string[]> = { Ann: [], Zoë: [] };
  const leaving: Record<string, AbortController> = { Ann: new AbortController(), Zoë: new AbortController() };
  const together = (ask: string): Promise<Facts>[] =>
    ['Ann', 'Zoë'].map(async (userId) => {
      const [deadlineAt, meter] = [performance.now() + 60_000, meterOf(made[userId]!)];
      const options = { requestId: `of ${userId}`, userId, deadlineAt, meter, signal: leaving[userId]!.signal };
      return (await relay.ask_together({ method: ask }, options)) as Facts;
    });
  for (const { requestId, userId, leftMs } of await Promise.all(together('facts')))
    assert.equal([requestId, userId, Number(leftMs) > 0], ['of Ann', 'Ann', true]);
  assert.equal(made, { Ann: ['relay', 'sentiment'], Zoë: ['relay'] });
  const held = together('untilCancelled').map((one) => one.catch((error: unknown) => error));
  const calledFor = (name: string, times: number): Promise<void> =>
    until(() => made[name]?.filter((one) => one === 'sentiment').length === times, `a call for ${name} has begun`);
  await calledFor('Ann', 2);
  const reason = new Error('enough');
  leaving['Ann']!.abort(reason);
  await calledFor('Zoë', 1); // computed again, for those who stay
  leaving['Zoë']!.abort(reason);
  assert.equal(await Promise.all(held), [reason, reason]);
});

Called('has nothing of the request whose code started its replica', async () => {
  const manager = newManager();
  manager.register('relay', RelayDeployment.options());
  manager.register('sentiment', SentimentDeployment.options());
  const calls: string[] = [];
  const meter = { call: (name: string) => void calls.push(name) } as unknown as UsageMeter;
  const deadlineAt = performance.now() + 600_000;
  using scope = new RequestScope({ requestId: 'r-1', userId: null, priority: 3, deadlineAt, meter });
  await scope.run(() => manager.start());
  const { requestId, priority, leftMs } = await ask(manager.handle('relay') as Relay, 'facts');
  assert.equal([requestId, priority, leftMs, calls], [null, 0, undefined, []]);
});

Called('cancels the calls of all levels when the caller leaves', async () => {
  const count = async (): Promise<number> => {
    const all = await Promise.all(Array.from({ length: 8 }, () => sentiment.facts()));
    const each = new Map(all.map(({ pid, cancelled }) => [pid, Number(cancelled)]));
    return [...each.values()].reduce((sum, n) => sum + n, 0);
  };
  const running = (): number =>
    shared.status()['sentiment']?.replicas.reduce((sum, { ongoing }) => sum + ongoing, 0) ?? 0;
  const before = await count();
  const leaving = new AbortController();
  const asked = { method: 'ask', args: { method: 'untilCancelled' } };
  const waiting = errorOf(outer.ask(asked, { signal: leaving.signal }), Error);
  await until(() => running() === 1, 'the call has come to the last deployment');
  const reason = new Error('enough');
  leaving.abort(reason);
  assert.is(await waiting, reason);
  await until(async () => (await count()) === before + 1, 'the last deployment knows that the caller has left');
  for await (const _ of outer.words({ text: 'one wait' })) break;
  await until(() => running() === 0, 'the stream has ended everywhere');
});

Called('leaves no stream open that its method did not close', async () => {
  assert.equal(await relay.first_word({ text: 'one wait' }), { word: 'one' });
  await until(
    () => shared.status()['sentiment']?.replicas.every(({ ongoing }) => ongoing === 0) === true,
    'the stream has ended',
  );
});

Called('goes on when a call fails that its method does not wait for yet', async () => {
  const pid = (): unknown => shared.status()['relay']?.replicas[0]?.pid;
  const before = pid();
  const errorOfLate = async (method: string, limits = {}): Promise<string> =>
    (await errorOf(relay.late({ method, limits }))).name;
  assert.is(await errorOfLate('missing'), 'MethodNotFound');
  assert.is(await errorOfLate('untilCancelled', { timeoutS: 0.01 }), 'DeadlineExceeded');
  const leaving = new AbortController();
  const reason = new Error('enough');
  const left = errorOf(relay.late({ method: 'untilCancelled' }, { signal: leaving.signal }), Error);
  await until(
    () => shared.status()['sentiment']?.replicas.some(({ ongoing }) => ongoing === 1) === true,
    'the call has begun',
  );
  leaving.abort(reason);
  assert.is(await left, reason);
  assert.equal([await ask(relay, 'classify', { text: 'great' }), pid()], [{ label: 'positive', score: 1 }, before]);
});

Called('ends a call of another deployment after its time', async () => {
  const limits = { timeoutS: 0.2 };
  const error = await errorOf(relay.ask({ method: 'untilCancelled', limits }));
  assert.equal(
    [error.name, error.kind, error.message],
    ['DeadlineExceeded', 'deadline-exceeded', 'deployment sentiment did not finish untilCancelled within 0.2 s'],
  );
  const { priority } = (await relay.ask({ method: 'facts', limits: { priority: -3 } })) as Facts;
  assert.is(priority, -3);
});

Called('gets errors with name, kind and data, and passes them on', async () => {
  const long = await errorOf(outer.ask({ method: 'ask', args: { method: 'fail', args: { how: 'aana' } } }));
  assert.equal([long.name, long.kind, long.data], ['TextTooLong', 'bad-request', { words: 9 }]);
  const model = await errorOf(relay.ask({ method: 'fail', args: { how: 'inference' } }));
  assert.equal([model.name, model.kind, model.fault], ['InferenceException', 'internal', 'dependency']);
  const invalid = await errorOf(relay.ask({ method: 'classify', args: { text: '' } }));
  assert.match(invalid.message, 'sentiment.classify: text: String should have at least 1 character');
  const unknown = await errorOf(relay.ask({ method: 'facts', key: 'other' }));
  assert.match(unknown.message, 'RelayDeployment: static handles has no other; its keys are: next');
  const option = await errorOf(relay.ask({ method: 'facts', limits: { timeoutS: -1 } }));
  assert.match(option.message, 'options of the handle of deployment sentiment: timeoutS');
});

Called('keeps its replica when the replica of the other is lost', async () => {
  const pid = (): unknown => shared.status()['relay']?.replicas[0]?.pid;
  const before = pid();
  const error = await errorOf(relay.ask({ method: 'end', args: { how: 'SIGKILL' } }));
  assert.equal([error.name, error.fault], ['PoisonousCallError', 'caller']);
  assert.equal([pid(), await ask(relay, 'classify', { text: 'great' })], [before, { label: 'positive', score: 1 }]);
});

Called('leaves no call behind when its own replica is lost', async () => {
  const error = await errorOf(relay.die_after());
  assert.is(error.name, 'PoisonousCallError', 'its two replicas were lost');
  await until(
    () => shared.status()['sentiment']?.replicas.every(({ ongoing }) => ongoing === 0) === true,
    'its calls have ended',
  );
});

Called('does not start before a deployment that it calls serves', async () => {
  const manager = newManager();
  manager.register('relay', RelayDeployment.options());
  manager.register('sentiment', SentimentDeployment.options());
  const early = await errorOf(manager.deployOne('relay'));
  assert.equal(
    [early.name, early.message],
    [
      'FailedDeployment',
      'deployment relay failed: it calls sentiment, which does not serve: deployment sentiment is not started yet',
    ],
  );
  await Promise.all([manager.deployOne('sentiment'), manager.deployOne('relay')]);
  assert.is(((await (manager.handle('relay') as Relay).first()) as Facts)['broken'], null);
});

Called('is refused when it would call itself, and when a name is unknown', async () => {
  const manager = newManager();
  const relayTo = (next: string) => RelayDeployment.options({ handles: { next } });
  const refusal = (name: string, next: string): string => {
    try {
      manager.register(name, relayTo(next));
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.is(refusal('a', 'a'), 'deployment a: handles: a deployment must not call itself: a → a');
  assert.is(refusal('a', 'b'), '');
  assert.is(refusal('b', 'c'), '');
  assert.is(refusal('c', 'a'), 'deployment c: handles: a deployment must not call itself: c → a → b → c');
  assert.not.ok(manager.has('c'));
  const error = await errorOf(manager.start());
  assert.is(error.message, 'deployment b: handles.next: there is no deployment c; deployments are: a, b');
  try {
    RelayDeployment.options({ handles: { nxt: 'b' } });
    assert.unreachable();
  } catch (thrown) {
    assert.is(
      (thrown as Error).message,
      'RelayDeployment.options: handles.nxt: RelayDeployment has no handle of this key; its handles are: next',
    );
  }
});

Called('has the method of an optional handle with a single result', async () => {
  const sentimental = SentimentDeployment.options();
  const { methods, ...definition } = sentimental.definition;
  const streaming = { ...sentimental, definition: { ...definition, methods: { recognize: methods['words']! } } };
  for (const [own, why] of [
    [sentimental, 'and has no method recognize'],
    [streaming, 'whose method recognize is streaming'],
  ] as const) {
    const manager = newManager();
    manager.register('own', own);
    const user_config = { base_url: 'http://127.0.0.1:1', model: 'm' };
    manager.register('llm', { type: 'OpenAITextGenerationDeployment', handles: { ocr: 'own' }, user_config });
    const { message } = await errorOf(manager.start());
    assert.is(message, `deployment llm: handles.ocr: the deployment own is a SentimentDeployment ${why}`);
  }
});

Called('cannot lose a deployment that it calls, or come to call itself', async () => {
  const inUse = await errorOf(shared.remove('sentiment'));
  assert.equal(
    [inUse.name, inUse.kind, inUse.message],
    ['DeploymentInUse', 'conflict', 'deployment sentiment cannot be removed, because relay calls it'],
  );
  const cycle = await errorOf(shared.update('relay', RelayDeployment.options({ handles: { next: 'outer' } })));
  assert.match(cycle.message, 'relay → outer → relay');
  const gone = await errorOf(shared.update('relay', RelayDeployment.options({ handles: { next: 'gone' } })));
  assert.match(gone.message, 'there is no deployment gone');
  assert.equal(await ask(relay, 'classify', { text: 'great' }), { label: 'positive', score: 1 });
});

Called('calls another deployment after an update, and then the first one can go', async () => {
  const manager = await started(false);
  manager.register('other', SentimentDeployment.options({ user_config: { good: ['fine'] } }));
  await manager.deployOne('other');
  await manager.update('relay', RelayDeployment.options({ handles: { next: 'other' } }), { watchS: 0 });
  const moved = manager.handle('outer') as Relay;
  const told = await ask(moved, 'ask', { method: 'classify', args: { text: 'fine' } });
  assert.equal(told, { label: 'positive', score: 1 });
  await manager.remove('sentiment');
  assert.not.ok(manager.has('sentiment'));
});

Called('cannot come to call itself, or lose what it calls, by changes at the same time', async () => {
  const manager = newManager();
  manager.register('sentiment', SentimentDeployment.options());
  manager.register('other', SentimentDeployment.options());
  for (const name of ['a', 'b']) manager.register(name, RelayDeployment.options());
  await manager.start();
  const relayTo = (next: string) => RelayDeployment.options({ handles: { next } });
  const first = manager.update('a', relayTo('b'), { watchS: 0 });
  assert.match((await errorOf(manager.update('b', relayTo('a'), { watchS: 0 }))).message, 'b → a → b');
  await first;
  const away = manager.update('a', relayTo('other'), { watchS: 0 });
  for (const name of ['other', 'b']) assert.is((await errorOf(manager.remove(name))).name, 'DeploymentInUse');
  await away;
  await manager.remove('b');
});

Called('passes files on', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aana-called-'));
  try {
    const content = 'what the file holds';
    await mkdir(join(folder, 'scope'));
    await writeFile(join(folder, 'scope', 'file'), content);
    const sha256 = createHash('sha256').update(content).digest('hex');
    const file = await artifactOf(folder, join(folder, 'scope', 'file'), sha256);
    const manager = newManager({ roots: [folder], copies: folder });
    manager.register('reader', ReaderDeployment.options());
    manager.register('relay', RelayDeployment.options({ handles: { next: 'reader' } }));
    await manager.start();
    const told = await (manager.handle('relay') as Relay).ask({ method: 'read', args: { file } });
    assert.equal(told, { bytes: content.length, sha256 });
  } finally {
    await rm(folder, { recursive: true });
  }
});

Called('finishes its calls when all deployments stop, with further calls of the others', async () => {
  const manager = await started(false);
  const texts = new AsyncQueue<string>();
  const labels = (manager.handle('relay') as Relay).classify_each({ texts });
  texts.push('great');
  assert.equal((await labels.next()).value, { label: 'positive', score: 1 });
  const stopped = manager.shutdown({ graceMs: 60_000 });
  texts.push('bad');
  assert.equal((await labels.next()).value, { label: 'negative', score: 0 });
  assert.is((await errorOf((manager.handle('outer') as Relay).first())).name, 'DeploymentStopped');
  texts.end();
  assert.is((await labels.next()).done, true);
  await stopped;
});

Called.run();
