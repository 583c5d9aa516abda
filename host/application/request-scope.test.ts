// The context of a request reaches every call that code of the application makes, whatever this code passes.
import { EventEmitter } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { signalWithin } from '../base/core/abort.ts';
import { Router } from '@koa/router';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type AanaApp, Endpoint, type HandleOf, type HostEndpointContext, z } from 'aana-host';
import { until } from '../test/helpers/server.ts';
import type { UsageRecord } from '../data/usage/index.ts';
import { ReporterDeployment, type Told } from './fixtures/reporter-deployment.ts';
import { keepingPlugins, makeApp, makeFolder, started } from './fixtures/test-app.ts';
import { buildTestPlugin } from '../endpoints/plugins/fixtures/build-test-plugin.ts';

const Scope = suite('the context of a request');
const folder = makeFolder();
const usage = join(folder, 'usage.jsonl');
/** Of a run of an endpoint, and of an attempt at a task. */
const [TIMEOUT_S, TASK_TIMEOUT_S] = [100, 50];

let app: AanaApp;
const users: Record<string, string> = {};
/** Work that goes on after its request. */
let later: Promise<Told> | undefined;
let goOn: () => void = () => {};

type Reporter = HandleOf<typeof ReporterDeployment>;
const reporter = (): Reporter => app.handle(ReporterDeployment, 'reporter');
const given = z.strictObject({ how: z.string().default('') });
const toldOf = z.array(z.any());

/** Ways to call a deployment, as authors write them. */
const ways: Record<string, (context: HostEndpointContext) => Promise<Told>> = {
  'the signal': (context) => reporter().tell({}, { signal: context.signal }),
  'the context': (context) => reporter().tell({}, context),
  nothing: () => reporter().tell(),
  'nothing, after other work': async () => {
    await sleep(2);
    await fetch(`${app.url}/livez`);
    return reporter().tell();
  },
  'nothing, in a timer': () =>
    new Promise((resolve) => {
      setTimeout(() => resolve(reporter().tell()), 2);
    }),
  'nothing, in a listener': () =>
    new Promise((resolve) => {
      const emitter = new EventEmitter().once('go', () => resolve(reporter().tell()));
      setImmediate(() => emitter.emit('go'));
    }),
  'a signal of its own': ({ signal }) => reporter().tell({}, { signal: signalWithin(60_000, signal) }),
  'nothing, to a stream': async () => {
    for await (const told of reporter().tell_stream()) return told;
    throw new Error('the stream is empty');
  },
  'nothing, by the name of the method': async () => (await app.handle('reporter').call('tell', {})) as Told,
};

class Ways extends Endpoint {
  readonly input = given;
  readonly output = toldOf;

  async run(_: unknown, context: HostEndpointContext): Promise<Told[]> {
    return [...(await Promise.all(Object.values(ways).map((way) => way(context))))];
  }
}

/** As README has it. */
class Readme extends Endpoint {
  readonly input = given;
  readonly output = toldOf;

  async run(_: unknown, { signal }: HostEndpointContext): Promise<Told[]> {
    return [await this.handle(ReporterDeployment, 'reporter').tell({}, { signal })];
  }
}

class Streamed extends Endpoint {
  readonly input = given;
  readonly output = z.any();
  #reporter: Reporter | undefined;

  override async initialize(): Promise<void> {
    await super.initialize();
    this.#reporter = this.handle(ReporterDeployment, 'reporter');
  }

  async *run(_: unknown, { signal }: HostEndpointContext): AsyncGenerator<Told> {
    yield (await this.#reporter?.tell({}, { signal })) as Told;
    yield (await this.#reporter?.tell()) as Told;
    await sleep(1);
    yield (await this.#reporter?.tell()) as Told;
    yield* this.#reporter?.tell_stream() ?? [];
  }
}

function routes(): Router {
  const router = new Router({ prefix: '/pages' });
  router.post('/told', async (ctx) => {
    await sleep(1);
    ctx.body = [await reporter().tell()];
  });
  router.post('/streamed', async (ctx) => {
    await sleep(1);
    ctx.body = Readable.from(
      (async function* () {
        const first = await reporter().tell();
        yield `[${JSON.stringify(first)},`;
        await sleep(1);
        const second = await reporter().tell();
        yield `${JSON.stringify(second)}]`;
      })(),
    );
  });
  return router;
}

const PLUGIN = `
import { defineEndpoint, definePlugin, z } from 'aana-host/plugin';
const told = defineEndpoint({
  name: 'told', path: '/plugin', summary: '', input: z.strictObject({ how: z.optional(z.string()) }), output: z.any(),
  run: async (_, ctx) => [await ctx.deployment('reporter').call('tell')],
});
export const endpoint = definePlugin([told]);
`;

Scope.before(async () => {
  const plugin = join(folder, 'teller');
  mkdirSync(join(plugin, 'src'), { recursive: true });
  const manifest = { name: 'teller', version: '1.0.0', capabilities: ['deployments'], deployments: ['reporter'] };
  await writeFile(join(plugin, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(plugin, 'src/index.ts'), PLUGIN);
  await buildTestPlugin(plugin);
  app = makeApp(
    folder,
    {},
    {
      ...keepingPlugins(folder),
      api_service: { enabled: true },
      limits: { invocation_timeout_s: TIMEOUT_S },
      task_queue: { execution_timeout: TASK_TIMEOUT_S },
      plugin_limits: { threads: 1 },
      plugin_grants: { teller: { capabilities: ['*'] } },
      usage: { file: { path: usage } },
    },
  );
  app.registerDeployment('reporter', ReporterDeployment.options({ num_replicas: 1 }));
  app.registerEndpoint({ name: 'ways', path: '/ways', endpoint_cls: Ways });
  app.registerEndpoint({ name: 'readme', path: '/readme', endpoint_cls: Readme });
  app.registerEndpoint({ name: 'streamed', path: '/streamed', endpoint_cls: Streamed });
  app.registerEndpoint({
    ...{ name: 'function', path: '/function', input: given, output: toldOf },
    run: async () => [await reporter().tell()],
  });
  app.registerEndpoint({
    ...{ name: 'asked', path: '/asked', input: given, output: toldOf },
    run: () => reporter().ask({ runtime_dir: join(folder, 'run'), deployment: 'reporter' }),
  });
  app.registerEndpoint({
    ...{ name: 'outlived', path: '/outlived', input: given, output: toldOf },
    run: async () => {
      const isOver = new Promise<void>((resolve) => (goOn = resolve));
      later = isOver.then(() => reporter().tell());
      return [];
    },
  });
  app.registerRouter('pages', routes());
  app.registerPlugins(plugin);
  await started(app);
  for (const user of ['ann', 'bob']) users[user] = (await app.apiKeys!.create({ user_id: user })).apiKey;
});
Scope.after(async () => {
  await app?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true, force: true });
});

let made = 0;

interface Asked {
  readonly requestId: string;
  readonly traceId: string;
  readonly answer: unknown;
}

async function ask(path: string, user: string): Promise<Asked> {
  const requestId = `request-${++made}`;
  const traceId = made.toString(16).padStart(32, '0');
  const response = await fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': users[user] ?? '',
      'x-request-id': requestId,
      traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
    },
    body: '{}',
  });
  const text = await response.text();
  assert.is(response.status, 200, text);
  const isStream = path === '/streamed'; // of values, without anything between them
  return { requestId, traceId, answer: JSON.parse(isStream ? `[${text.replaceAll('}{', '},{')}]` : text) };
}

const recordsOf = (requestId: string): UsageRecord[] =>
  existsSync(usage)
    ? readFileSync(usage, 'utf8')
        .split('\n')
        .slice(0, -1) // behind the last line there is nothing, or a part of a line
        .map((line) => JSON.parse(line) as UsageRecord)
        .filter((record) => record.request_id === requestId)
    : [];

function checkTold(told: Told, { requestId, traceId }: Asked, user: string, timeoutS: number, what: string): void {
  const { leftMs, ...rest } = told;
  assert.equal(rest, { requestId, userId: user, priority: rest.priority, traceId }, what);
  assert.ok(leftMs !== null && leftMs > 0 && leftMs <= timeoutS * 1000, `${what}: ${leftMs} ms are left`);
}

/** The calls that each path makes. */
const paths: Record<string, readonly string[]> = {
  '/ways': Object.keys(ways),
  '/readme': ['readme'],
  '/streamed': ['signal', 'nothing', 'after work', 'stream'],
  '/function': ['function'],
  '/asked': ['nothing', 'signal'],
  '/pages/told': ['router'],
  '/pages/streamed': ['first', 'second'],
  '/plugin': ['plugin'],
};

for (const [path, names] of Object.entries(paths))
  Scope(`reaches the calls of ${path}, while another user's request runs`, async () => {
    const requests = ['ann', 'bob', 'ann', 'bob'].map(async (user) => ({ user, asked: await ask(path, user) }));
    for (const { user, asked } of await Promise.all(requests)) {
      const answer = asked.answer as Told[];
      assert.is(answer.length, names.length, JSON.stringify(answer));
      for (const [at, name] of names.entries()) checkTold(answer[at]!, asked, user, TIMEOUT_S, `${path}: ${name}`);
      await until(async () => recordsOf(asked.requestId).some(({ calls }) => calls > 0));
      const [record, ...others] = recordsOf(asked.requestId);
      const calls = path === '/asked' ? 1 : names.length; // calls by way of another process are those of the process
      assert.equal([record?.user_id, record?.deployment, record?.calls, others], [user, 'reporter', calls, []]);
    }
  });

Scope('reaches the calls of a task', async () => {
  const { answer, traceId } = await ask('/ways?defer=true', 'ann');
  const { task_id: id } = answer as { task_id: string };
  const read = async (): Promise<{ status: string; result: Told[] }> =>
    (await (await fetch(`${app.url}/tasks/${id}`, { headers: { 'x-api-key': users['ann'] ?? '' } })).json()) as {
      status: string;
      result: Told[];
    };
  await until(async () => (await read()).status === 'completed');
  const { result } = await read();
  assert.is(result.length, Object.keys(ways).length);
  for (const [at, name] of Object.keys(ways).entries())
    checkTold(result[at]!, { requestId: id, traceId, answer }, 'ann', TASK_TIMEOUT_S, name);
  await until(async () => recordsOf(id).length > 0);
  assert.is(recordsOf(id)[0]?.calls, Object.keys(ways).length);
});

Scope('is only that of the user for work that goes on after the request', async () => {
  const { requestId, traceId } = await ask('/outlived', 'ann');
  await until(async () => recordsOf(requestId).length > 0);
  goOn();
  const told = (await later)!;
  assert.equal([told.requestId, told.userId, told.leftMs], [requestId, 'ann', null]);
  assert.is.not(told.traceId, traceId);
  assert.is(recordsOf(requestId)[0]?.calls, 0);
});

Scope.run();
