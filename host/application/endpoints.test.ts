// Endpoints of the program itself: classes and functions of an application that serves over real sockets.
import { rmSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { SentimentDeployment } from '../inference/deployments/fixtures/sentiment-deployment.ts';
import { AanaError, Endpoint, type EndpointRegistration, type HandleOf, type HostEndpointContext } from 'aana-host';
import { silentLogger } from '../base/core/log/logger.ts';
import { makeApp, makeFolder, postJson, started } from './fixtures/test-app.ts';

const Input = z.strictObject({ n: z.number().describe('The number to double') });
const Output = z.strictObject({ n: z.number() });

class Double extends Endpoint<typeof Input, typeof Output> {
  static initialized = 0;
  readonly input = Input;
  readonly output = Output;
  #factor = 0;

  override async initialize(): Promise<void> {
    await super.initialize();
    await new Promise((resolve) => setImmediate(resolve));
    Double.initialized += 1;
    this.#factor = 2;
  }

  async run({ n }: z.infer<typeof Input>): Promise<z.infer<typeof Output>> {
    return { n: n * this.#factor };
  }
}

class Count extends Endpoint<typeof Input, typeof Output> {
  readonly input = Input;
  readonly output = Output;

  async *run(
    { n: end }: z.infer<typeof Input>,
    { signal }: HostEndpointContext,
  ): AsyncGenerator<z.infer<typeof Output>, void> {
    for (let n = 0; n < end; n++) {
      signal.throwIfAborted();
      yield { n };
    }
  }
}

const double = { name: 'double', path: '/double', summary: 'Doubles a number', endpoint_cls: Double };
const run = async ({ n }: { n: number }): Promise<{ n: number }> => ({ n: n * 2 });

const Endpoints = suite('endpoints of the program');
let folder = '';

Endpoints.before(() => {
  folder = makeFolder();
});
Endpoints.before.each(() => {
  Double.initialized = 0;
});
Endpoints.after(() => rmSync(folder, { recursive: true, force: true }));

Endpoints('a class is served, described, and initialized once before its first request', async () => {
  await using app = makeApp(folder).registerEndpoint({
    ...double,
    description: 'Twice as much.',
    tags: ['numbers'],
    openapi_extra: { deprecated: true },
  });
  assert.is(Double.initialized, 0);
  await started(app);
  assert.is(Double.initialized, 1);
  const answers = await Promise.all([1, 2, 3].map(async (n) => (await postJson(`${app.url}/double`, { n })).json()));
  assert.equal(answers, [{ n: 2 }, { n: 4 }, { n: 6 }]);
  assert.is(Double.initialized, 1);
  const { paths, components } = (await (await fetch(`${app.url}/openapi.json`)).json()) as {
    paths: Record<string, { post: Record<string, unknown> }>;
    components: { schemas: Record<string, unknown> };
  };
  const { operationId, summary, description, tags, deprecated } = paths['/double']?.post ?? {};
  assert.equal(
    { operationId, summary, description, tags, deprecated },
    {
      operationId: 'double',
      summary: 'Doubles a number',
      description: 'Twice as much.',
      tags: ['numbers'],
      deprecated: true,
    },
  );
  assert.match(JSON.stringify(components.schemas['DoubleRequest']), 'The number to double');
});

Endpoints('a class whose run is an async generator streams', async () => {
  await using app = await started(
    makeApp(folder).registerEndpoint({ name: 'count', path: '/count', endpoint_cls: Count }),
  );
  const response = await postJson(`${app.url}/count`, { n: 3 });
  assert.is(response.headers.get('content-type'), 'application/json-seq');
  assert.is(await response.text(), '{"n":0}{"n":1}{"n":2}');
});

Endpoints(
  "an input that does not match is 422, an output that does not is the server's fault, and the log alone says where",
  async () => {
    const lines: unknown[] = [];
    const log = { ...silentLogger, error: (_: string, fields?: unknown) => void lines.push(fields) };
    await using app = makeApp(folder, { log }).registerEndpoint({
      name: 'wrong',
      path: '/wrong',
      input: Input,
      output: Output,
      run: async () => ({ n: 'two' }) as never,
    });
    await started(app.registerEndpoint(double));
    assert.is((await postJson(`${app.url}/double`, { n: 'x' })).status, 422);
    const response = await postJson(`${app.url}/wrong`, { n: 1 });
    assert.is(response.status, 500);
    const { error, message } = (await response.json()) as { error: string; message: string };
    assert.is(error, 'OutputError');
    assert.is(message, 'endpoint wrong: its output does not match its schema');
    assert.equal((lines[0] as { output: unknown }).output, [{ loc: ['n'], type: 'float_type' }]);
    assert.not.match(JSON.stringify(lines), 'two');
  },
);

Endpoints('an error of initialize ends the start and names the endpoint', async () => {
  class Broken extends Double {
    override async initialize(): Promise<void> {
      throw new Error('the table of words is missing');
    }
  }
  const app = makeApp(folder).registerEndpoint({ ...double, endpoint_cls: Broken });
  const error = await app.deploy().catch((thrown: unknown) => thrown as AanaError);
  assert.is((error as AanaError).message, 'endpoint double: it cannot be initialized: the table of words is missing');
  await app.stopped;
  assert.is(app.status().deployments['app']?.status, 'DEPLOY_FAILED');
});

Endpoints('has handles of deployments from initialize on, with the types of their class', async () => {
  class Judge extends Endpoint {
    readonly input = z.strictObject({ text: z.string() });
    readonly output = z.string();
    #sentiment?: HandleOf<typeof SentimentDeployment>;

    override async initialize(): Promise<void> {
      this.#sentiment = this.handle(SentimentDeployment, 'sentiment', { num_retries: 1 });
      assert.is(this.handle('sentiment').name, 'sentiment');
    }

    async run(input: unknown): Promise<unknown> {
      return (await this.#sentiment?.classify(input as { text: string }))?.label;
    }
  }
  class Early extends Judge {
    early = this.handle('sentiment');
  }
  const judge = { name: 'judge', path: '/judge' };
  await using app = makeApp(folder).registerDeployment('sentiment', SentimentDeployment.options());
  assert.throws(
    () => app.registerEndpoint({ ...judge, endpoint_cls: Early }),
    /Early: handles can be made from initialize\(\) on, not in the constructor/,
  );
  await started(app.registerEndpoint({ ...judge, endpoint_cls: Judge }));
  assert.is(await (await postJson(`${app.url}/judge`, { text: 'good' })).json(), 'positive');
});

Endpoints('one that is registered while the application runs is served after its initialize', async () => {
  await using app = await started(makeApp(folder));
  assert.is((await postJson(`${app.url}/double`, { n: 1 })).status, 404);
  app.registerEndpoint(double);
  const answers = await Promise.all([1, 2].map(async (n) => (await postJson(`${app.url}/double`, { n })).json()));
  assert.equal(answers, [{ n: 2 }, { n: 4 }]);
  assert.is(Double.initialized, 1);
});

Endpoints('an unregistered one is gone, and its name and path can be used again', async () => {
  await using app = await started(makeApp(folder).registerEndpoint(double));
  app.unregisterEndpoint('double').unregisterEndpoint('never-there');
  assert.is((await postJson(`${app.url}/double`, { n: 1 })).status, 404);
  app.registerEndpoint({
    name: 'double',
    path: '/double',
    input: Input,
    output: Output,
    run: async ({ n }) => ({ n: n * 20 }),
  });
  assert.equal(await (await postJson(`${app.url}/double`, { n: 1 })).json(), { n: 20 });
});

Endpoints('a taken name and a taken path are refused, without effect on the other endpoint', async () => {
  await using app = await started(makeApp(folder).registerEndpoint(double));
  assert.throws(
    () => app.registerEndpoint({ ...double, path: '/other' }),
    /^endpoint double: the name is already registered$/,
  );
  assert.throws(
    () => app.registerEndpoint({ ...double, name: 'other' }),
    /^endpoint other: the path \/double already belongs to double$/,
  );
  assert.equal(await (await postJson(`${app.url}/double`, { n: 1 })).json(), { n: 2 });
});

const REFUSED: readonly [title: string, registration: Record<string, unknown>, message: RegExp][] = [
  ['nothing that it is made of', {}, /endpoint a: give exactly one of endpoint_cls, run and component$/],
  [
    'two kinds at once',
    { endpoint_cls: Double, component: 'x' },
    /exactly one of endpoint_cls, run and component, not endpoint_cls and component/,
  ],
  ['an option that there is not', { endpoint_cls: Double, methods: ['GET'] }, /endpoint a: .*methods/],
  [
    'a class that is no endpoint',
    {
      endpoint_cls: class Other {
        run = run;
      },
    },
    /endpoint a: Other must extend Endpoint of aana-host/,
  ],
  [
    'a class without schemas',
    { endpoint_cls: class Bare extends (Endpoint as new () => object) {} },
    /endpoint a: Bare must have a field input with a zod 4 schema/,
  ],
  ['a function without schemas', { run }, /endpoint a: input: a zod 4 schema is missing/],
  [
    'a schema of something else',
    { run, input: { n: 'number' }, output: Output },
    /endpoint a: input: .*must be a zod 4 schema/,
  ],
  ['schemas beside a class', { endpoint_cls: Double, input: Input }, /endpoint a: input and output are only for run/],
  [
    'an endpoint of no component',
    { endpoint_cls: Double, endpoint: 'b' },
    /endpoint a: endpoint needs component, because it names an endpoint of a component/,
  ],
  [
    'admin_required',
    { endpoint_cls: Double, admin_required: true },
    /endpoint a: admin_required: API keys are off, so anybody could run it; set api_service.enabled/,
  ],
  [
    'active_subscription_required',
    { endpoint_cls: Double, active_subscription_required: true },
    /endpoint a: active_subscription_required: API keys are off/,
  ],
  ['an unknown defer_option', { endpoint_cls: Double, defer_option: 'sometimes' }, /endpoint a: defer_option/],
  [
    'an event handler that cannot handle',
    { endpoint_cls: Double, event_handlers: [() => {}] },
    /endpoint a: event_handlers.*must have a method handle/,
  ],
  [
    "a path of the host's own",
    { endpoint_cls: Double, path: '/api/ready' },
    /endpoint a: the path \/api\/ready is the host's own/,
  ],
];
for (const [title, registration, message] of REFUSED) {
  Endpoints(`refuses ${title} in one sentence`, () => {
    const app = makeApp(folder);
    assert.throws(
      () => app.registerEndpoint({ name: 'a', path: '/a', ...registration } as EndpointRegistration),
      (error: AanaError) => message.test(error.message) && !error.message.includes('\n') && error instanceof AanaError,
    );
    assert.is(app.endpoints.length, 0);
  });
}

Endpoints('options may repeat their defaults', async () => {
  await using app = makeApp(folder).registerEndpoint({
    ...double,
    description: null,
    event_handlers: null,
    admin_required: false,
    active_subscription_required: false,
    defer_option: 'never',
  });
  await started(app);
  assert.equal(await (await postJson(`${app.url}/double?defer=true`, { n: 1 })).json(), { n: 2 });
});

Endpoints('event handlers are called in order before the input is read, and their errors are the answer', async () => {
  const seen: unknown[] = [];
  const quota = {
    left: 1,
    async handle(path: string, event: unknown): Promise<void> {
      seen.push([path, event]);
      if (quota.left-- === 0)
        throw new AanaError('TooManyRequestsException', 'unavailable', 'the quota is used up', {
          data: { rate_limit: 1 },
        });
    },
  };
  await using app = await started(
    makeApp(folder).registerEndpoint({
      ...double,
      event_handlers: [{ handle: () => void seen.push('first') }, quota],
    }),
  );
  assert.is((await postJson(`${app.url}/double`, { n: 'not a number' })).status, 422);
  const refused = await postJson(`${app.url}/double`, { n: 'not a number' });
  assert.equal(
    [refused.status, ((await refused.json()) as { error: string }).error],
    [503, 'TooManyRequestsException'],
  );
  assert.equal(seen, ['first', ['/double', { defer: false }], 'first', ['/double', { defer: false }]]);
});

Endpoints('the application refuses an unknown option', () => {
  assert.throws(
    () => makeApp(folder, { migrationFunc: () => {} } as never),
    /AanaApp: unknown option migrationFunc; options are: name, migration_func/,
  );
});

Endpoints('openapi_params replace general fields of the document', async () => {
  await using app = await started(
    makeApp(folder, {
      name: 'shop',
      openapi_params: { version: '7.0.0', description: 'All of it', servers: [{ url: 'https://shop.example' }] },
    }),
  );
  const { info, servers } = (await (await fetch(`${app.url}/openapi.json`)).json()) as Record<string, unknown>;
  assert.equal(
    { info, servers },
    { info: { title: 'shop', version: '7.0.0', description: 'All of it' }, servers: [{ url: 'https://shop.example' }] },
  );
});

Endpoints('migrate runs migration_func with the configuration, and passes on its errors', async () => {
  const seen: unknown[] = [];
  const app = makeApp(folder, { migration_func: async (config) => void seen.push(config) });
  await app.migrate();
  assert.equal(seen, [app.config]);
  const failing = makeApp(folder, { migration_func: () => Promise.reject(new Error('no such table')) });
  assert.match(String(await failing.migrate().catch((error: Error) => error.message)), 'no such table');
});

Endpoints.run();
