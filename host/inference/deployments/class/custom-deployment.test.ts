import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { errorOf } from '../../../test/helpers/error-of.ts';
import * as z from 'zod';
import type { AanaError } from '../../../base/core/errors.ts';
import { createLogger, type Logger, silentLogger } from '../../../base/core/log/logger.ts';
import { importModule } from '../../../base/modules/index.ts';
import { until } from '../../replicas/fixtures/sample-sets.ts';
import { linkDependencies } from '../../../test/helpers/plugin-project.ts';
import { Deployment, method, streamingMethod } from './author.ts';
import type { BoundDeployment } from './bound-deployment.ts';
import type { ModelSource } from './deployment-definition.ts';
import { DeploymentManager } from '../manager/deployment-manager.ts';
import { SentimentConfig, SentimentDeployment } from '../fixtures/sentiment-deployment.ts';
import type { HandleOf } from '../handle/typed-handle.ts';

const Custom = suite('a deployment class of one’s own');

const models: ModelSource = { pull: async (id) => ({ path: `/models/${id}` }) };
const open = new Set<DeploymentManager>();

async function started(
  bound: BoundDeployment = SentimentDeployment.options(),
  log: Logger = silentLogger,
): Promise<DeploymentManager> {
  const manager = new DeploymentManager({ log, models, env: process.env });
  open.add(manager);
  manager.register('sentiment', bound);
  await manager.start();
  return manager;
}

type Sentiment = HandleOf<typeof SentimentDeployment>;

let shared: Promise<DeploymentManager> | undefined;

/** Returns a handle to a deployment with these options; without options, to one that tests share and do not change. */
const sentiment = async (bound?: BoundDeployment, log?: Logger): Promise<Sentiment> =>
  (await (bound || log ? started(bound, log) : (shared ??= started()))).handle('sentiment') as Sentiment;

Custom.after.each(async () => {
  const [keep, ...others] = shared ? [await shared, ...open] : [undefined, ...open];
  const done = others.filter((manager) => manager !== keep);
  await Promise.all(done.map((manager) => manager.shutdown({ graceMs: 0 })));
  for (const manager of done) open.delete(manager);
});
Custom.after(async () => (await shared)?.shutdown({ graceMs: 0 }));

Custom('answers through a handle with typed methods, in its own process', async () => {
  const handle = await sentiment(SentimentDeployment.options({ user_config: new SentimentConfig({ good: ['fine'] }) }));
  const { label, score }: { label: 'positive' | 'negative'; score: number } = await handle.classify({
    text: 'a fine day',
  });
  assert.equal([label, Math.round(score * 3)], ['positive', 1]);
  assert.is.not((await handle.facts())['pid'], process.pid);
});

Custom('streams value by value', async () => {
  const words: string[] = [];
  for await (const { word } of (await sentiment()).words({ text: 'one two three' })) words.push(word);
  assert.equal(words, ['one', 'two', 'three']);
  const stream = (await sentiment()).words({ text: 'one two' });
  await stream.next();
  await stream.next();
  assert.equal(await stream.next(), { done: true, value: { count: 2 } }, 'what the method returned');
  const wrong = (await sentiment()).words({ text: 'one!' });
  await wrong.next();
  assert.is((await errorOf(wrong.next())).name, 'InvalidOutput');
});

Custom('takes a feed of values as an argument that is an async iterable', async () => {
  const handle = await sentiment();
  async function* texts(): AsyncGenerator<string> {
    yield* ['a great day', 'rain', 'good'];
  }
  const labels: string[] = [];
  for await (const { label } of handle.judge({ texts: texts() })) labels.push(label);
  assert.equal(labels, ['positive', 'negative', 'positive']);
  const described = handle.methods['judge']?.feed;
  const { type, minLength } = (described?.valueSchema ?? {}) as Record<string, unknown>;
  assert.equal([described?.name, type, minLength], ['texts', 'string', 1]);
});

Custom('refuses a feed that is no async iterable, or has a value that its schema does not allow', async () => {
  const handle = await sentiment();
  const none = await errorOf(handle.judge({ texts: ['x'] as never }).next());
  assert.equal(
    [none.name, none.message.includes('texts: Input should be an async iterable')],
    ['ValidationError', true],
  );
  async function* texts(): AsyncGenerator<string> {
    yield* ['good', ''];
  }
  const wrong = handle.judge({ texts: texts() });
  const { name, kind, message } = await errorOf(
    (async () => {
      for await (const _ of wrong);
    })(),
  );
  assert.equal(
    [name, kind, message],
    ['ValidationError', 'invalid-input', 'sentiment.judge: texts: String should have at least 1 character'],
  );
});

Custom('does not repeat a call on another replica after the first value of its feed', async () => {
  const handle = await sentiment(SentimentDeployment.options({ num_replicas: 2 }));
  let made = 0;
  async function* texts(): AsyncGenerator<string> {
    made += 1;
    yield 'die';
  }
  const error = await errorOf(handle.judge({ texts: texts() }).next());
  assert.equal([error.name, made], ['ReplicaLostError', 1]);
  assert.is((await handle.classify({ text: 'great' })).label, 'positive');
});

Custom('ends a stream whose reader leaves, and goes on serving', async () => {
  const handle = await sentiment(SentimentDeployment.options({ max_ongoing_requests: 1 }));
  for await (const { word } of handle.words({ text: 'wait forever' })) if (word === 'wait') break;
  assert.is((await handle.classify({ text: 'great' })).label, 'positive');
});

Custom('gets its configuration as an object of the configuration class, and the paths of its models', async () => {
  const facts = await (await sentiment(SentimentDeployment.options({ user_config: { model: 'words-en' } }))).facts();
  assert.equal([facts['isConfig'], facts['models']], [true, { words: '/models/words-en' }]);
});

Custom('gets the request id, and its log lines reach the log of the host', async () => {
  const lines: Record<string, unknown>[] = [];
  const handle = await sentiment(
    undefined,
    createLogger({ level: 'info', format: 'json', write: (line) => lines.push(JSON.parse(line)) }),
  );
  const context = {
    requestId: 'r-1',
    userId: 'Zoë',
    priority: 7,
    deadlineAt: performance.now() + 60_000,
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  };
  const { requestId, userId, priority, leftMs, traceparent } = await handle.facts({}, context);
  assert.equal({ requestId, userId, priority, traceparent, deadlineAt: context.deadlineAt }, context);
  assert.ok(
    (leftMs as number) > 0 && (leftMs as number) <= 60_000,
    'the deadline is the same moment by the clock of the replica',
  );
  const controller = new AbortController();
  const waiting = handle
    .untilCancelled({}, { requestId: 'r-2', signal: controller.signal })
    .catch((thrown: unknown) => thrown);
  while (!lines.some(({ message }) => message === 'waiting')) await handle.facts();
  const reason = new Error('enough');
  controller.abort(reason);
  assert.is(await waiting, reason);
  while ((await handle.facts())['cancelled'] !== 1);
  const line = lines.find(({ message }) => message === 'waiting');
  assert.equal([line?.['requestId'], line?.['replica']], ['r-2', 'sentiment#1']);
});

Custom('refuses input that its schema does not allow before a replica gets it', async () => {
  const handle = await sentiment();
  const error = await errorOf(handle.classify({ text: '', threshold: 1 }));
  assert.equal(
    [error.name, error.kind, error.message],
    ['ValidationError', 'invalid-input', 'sentiment.classify: text: String should have at least 1 character'],
  );
});

const FAILURES: readonly (readonly [
  how: 'own' | 'aana' | 'inference' | 'output',
  name: string,
  kind: string,
  message: RegExp,
])[] = [
  ['own', 'WordUnknown', 'internal', /^what is "flocci/],
  ['aana', 'TextTooLong', 'bad-request', /^the text is too long$/],
  ['inference', 'InferenceException', 'internal', /^inference with sentiment failed: CUDA error 700$/],
  [
    'output',
    'InvalidOutput',
    'internal',
    /^SentimentDeployment\.fail returned a value that its output schema does not allow: Input should be a .* string$/,
  ],
];
for (const [how, name, kind, message] of FAILURES) {
  Custom(`its errors arrive with their class, kind and message: ${how}`, async () => {
    const error = await errorOf((await sentiment()).fail({ how }));
    assert.equal([error.name, error.kind], [name, kind]);
    assert.match(error.message, message);
  });
}

for (const how of ['exit', 'SIGSEGV', 'SIGKILL'] as const) {
  Custom(`a process that ends by ${how} costs its own calls, and another one follows`, async () => {
    const manager = await started();
    const handle = manager.handle('sentiment') as Sentiment;
    const before = (await handle.facts())['pid'];
    // A stream that has produced a value is not repeated. Repeating `end` would end the next process, too.
    const stream = handle.words({ text: 'first wait' });
    assert.equal((await stream.next()).value, { word: 'first' });
    assert.equal((await stream.next()).value, { word: 'wait' });
    const lost = errorOf(stream.next());
    await handle.end({ how }, { signal: AbortSignal.timeout(100) }).catch(() => {});
    assert.is((await lost).name, 'ReplicaLostError');
    assert.is.not((await handle.facts())['pid'], before);
  });
}

Custom('a replica whose health check fails is replaced', async () => {
  const handle = await sentiment(SentimentDeployment.options({ health_check_period_s: 0.05 }));
  const before = (await handle.facts())['pid'];
  await handle.fail({ how: 'health' });
  while ((await handle.facts())['pid'] === before);
});

Custom('a replica most of whose calls fail with InferenceException is replaced', async () => {
  const handle = await sentiment(SentimentDeployment.options({ health_check_period_s: 0.2 }));
  const before = (await handle.facts())['pid'];
  const fail = (): Promise<unknown> => handle.fail({ how: 'inference' }).catch(() => {});
  for (;;) {
    await Promise.all([fail(), fail(), fail()]);
    if ((await handle.facts())['pid'] !== before) break;
  }
});

Custom('takes a changed configuration in the same process if it has reconfigure', async () => {
  const manager = await started();
  const handle = manager.handle('sentiment') as Sentiment;
  const before = (await handle.facts())['pid'];
  await manager.update('sentiment', SentimentDeployment.options({ user_config: { good: ['fine'] } }));
  assert.equal([(await handle.classify({ text: 'fine' })).label, (await handle.facts())['pid']], ['positive', before]);
});

Custom('keeps its configuration when it refuses a changed one', async () => {
  const manager = await started();
  const handle = manager.handle('sentiment') as Sentiment;
  const { outcome, reason } = await manager.update(
    'sentiment',
    SentimentDeployment.options({ user_config: { good: [], broken: 'config' } }),
  );
  assert.is(outcome, 'rolled-back');
  assert.match(reason, /the list of words is empty/);
  assert.is((await handle.classify({ text: 'good' })).label, 'positive');
});

Custom(
  'is replaced with its old configuration when its reconfigure does not return within start_timeout_s',
  async () => {
    const manager = await started();
    const handle = manager.handle('sentiment') as Sentiment;
    const before = (await handle.facts())['pid'];
    const { outcome, reason } = await manager.update(
      'sentiment',
      SentimentDeployment.options({ start_timeout_s: 0.5, user_config: { good: ['fine'], broken: 'stuck' } }),
    );
    assert.is(outcome, 'rolled-back');
    assert.is(
      reason,
      'replica sentiment#1 did not take its new configuration, because it made no progress for 0.5 s (start_timeout_s)',
    );
    while ((await handle.facts())['pid'] === before);
    assert.is((await handle.classify({ text: 'good' })).label, 'positive');
    assert.is(manager.registered().get('sentiment')?.options.start_timeout_s, 300);
  },
);

const BAD_STARTS: readonly (readonly [what: string, bound: () => BoundDeployment, message: RegExp])[] = [
  [
    'applyConfig throws',
    () => SentimentDeployment.options({ user_config: { broken: 'config' } }),
    /^deployment sentiment failed: the list of words is empty$/,
  ],
  ['the warm call throws', () => SentimentDeployment.options({ user_config: { broken: 'warm-up' } }), /it is cold/],
  [
    'the process ends',
    () => SentimentDeployment.options({ user_config: { broken: 'exit' } }),
    /exited with code 3.*no words left/,
  ],
  [
    'the module cannot be imported',
    () => elsewhere('../fixtures/not-importable.js'),
    /not-importable\.js cannot be imported by the replica: TypeError: libwords\.so is not there/,
  ],
  [
    'the module is not there',
    () => elsewhere('./fixtures/missing.js'),
    /missing\.js cannot be imported by the replica: Error: Cannot find module/,
  ],
  [
    'the class is not exported',
    () => elsewhere('../fixtures/sample-deployment.js'),
    /sample-deployment\.js exports no class Elsewhere; its exports are: SampleDeployment/,
  ],
  [
    'the module starts an application',
    () => elsewhere('../fixtures/starts-an-application.js'),
    /ApplicationInReplica: the module of a deployment class starts an application .*; move the class to its own module/,
  ],
];
for (const [what, bound, message] of BAD_STARTS) {
  Custom(`the deployment fails with the reason when ${what}`, async () => {
    const error = await errorOf(started(bound()));
    assert.is(error.name, 'FailedDeployment');
    assert.match(error.message, message);
  });
}

Custom('the error of a failed deployment has the last lines of its process', async () => {
  const error = await errorOf(started(elsewhere('../fixtures/not-importable.js')));
  assert.equal((error.data as { last_lines: unknown }).last_lines, ['not-importable: looking for its library']);
});

function elsewhere(module: string): BoundDeployment {
  class Elsewhere extends Deployment {
    static readonly module = new URL(module, import.meta.url).href;
    static readonly config = z.strictObject({});
    static readonly methods = {};
  }
  return Elsewhere.options();
}

class Base extends Deployment {
  static readonly module: string = import.meta.url;
  static readonly config: z.core.$ZodType = z.strictObject({});
}
const any = { description: '', input: z.strictObject({}), output: z.unknown() };
const CLASSES: readonly (readonly [what: string, type: unknown, message: RegExp])[] = [
  [
    'lacks its module',
    class Bad extends Deployment {
      static config = z.strictObject({});
      static methods = {};
    },
    /^Bad: static module = import\.meta\.url is missing/,
  ],
  [
    'lacks its configuration',
    class Bad extends Deployment {
      static module = import.meta.url;
      static methods = {};
    },
    /^Bad: static config is missing/,
  ],
  ['lacks its methods', class Bad extends Base {}, /^Bad: static methods is missing/],
  [
    'has no name',
    class extends Base {
      static methods = {};
    },
    /the class needs a name/,
  ],
  [
    'takes no call',
    class Bad extends Base {
      static methods = {};
      static maxOngoingRequests = 0;
    },
    /^Bad: static maxOngoingRequests must be a whole number from 1 to 1000/,
  ],
  [
    'does not have a method',
    class Bad extends Base {
      static methods = { run: method(any) };
    },
    /^Bad: methods names run, but the class has no such method/,
  ],
  [
    'has a method call',
    class Bad extends Base {
      static methods = { call: method(any) };
      call() {}
    },
    /^Bad: a method cannot be called call, because that name is reserved/,
  ],
  [
    'takes a list',
    class Bad extends Base {
      static methods = { run: method({ ...any, input: z.array(z.string()) }) };
      run() {}
    },
    /input of run: an object schema is needed/,
  ],
  [
    'takes a date',
    class Bad extends Base {
      static methods = { run: method({ ...any, input: z.strictObject({ at: z.date() }) }) };
      run() {}
    },
    /input of run: its values must be plain JSON: Date cannot/,
  ],
  [
    'gives a map',
    class Bad extends Base {
      static methods = { run: streamingMethod({ ...any, output: z.map(z.string(), z.string()) }) };
      run() {}
    },
    /output of run: its values must be plain JSON: Map cannot/,
  ],
  [
    'is configured by a text',
    class Bad extends Base {
      static override config = z.string();
      static methods = {};
    },
    /^Bad: config: an object schema is needed/,
  ],
  [
    'has schemas of something else',
    class Bad extends Base {
      static methods = { run: { ...any, input: { type: 'object' } } };
      run() {}
    },
    /^Bad: input of run: a zod 4 schema is needed/,
  ],
  [
    'is configured by a function',
    class Bad extends Base {
      static override config = z.strictObject({ run: z.custom<() => void>() });
      static methods = {};
    },
    /config: its values must be plain JSON: /,
  ],
];
for (const [what, type, message] of CLASSES) {
  Custom(`a class is refused that ${what}`, () => {
    const bound = (): unknown => (type as typeof SentimentDeployment).options();
    assert.throws(bound, (error: AanaError) => error.name === 'DeploymentClassError' && message.test(error.message));
  });
}

const TYPESCRIPT = `
import { Deployment, method, z } from 'aana-host/deployment';

export class Greeter extends Deployment {
  static readonly module: string = import.meta.url;
  static readonly config = z.strictObject({ word: z.string().default('Hello') });
  static readonly methods = {
    greet: method({ description: 'Greets.', input: z.strictObject({ who: z.string() }), output: z.string() }),
  };

  #word = '';

  override applyConfig({ word }: { readonly word: string }): void {
    this.#word = word;
  }

  async greet({ who }: { readonly who: string }): Promise<string> {
    return \`\${this.#word}, \${who}!\`;
  }
}
`;

Custom('may be written in TypeScript on every supported Node', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aana-class-'));
  try {
    linkDependencies(folder);
    const file = join(folder, 'greeter.ts');
    await writeFile(file, TYPESCRIPT);
    const { Greeter } = (await importModule(file)) as { Greeter: typeof SentimentDeployment };
    const manager = await started(Greeter.options());
    assert.is(await manager.handle('sentiment').call('greet', { who: 'Ada' }), 'Hello, Ada!');
  } finally {
    await rm(folder, { recursive: true });
  }
});

Custom('a later replica reports that its files have changed since the first one started', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'aana-class-'));
  try {
    linkDependencies(folder);
    const file = join(folder, 'greeter.ts');
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    await writeFile(file, TYPESCRIPT);
    await writeFile(join(folder, 'greeter.test.ts'), '// one');
    const { Greeter } = (await importModule(file)) as { Greeter: typeof SentimentDeployment };
    const lines: string[] = [];
    const manager = await started(
      Greeter.options(),
      createLogger({ level: 'error', format: 'json', write: (line) => lines.push(line) }),
    );
    const restart = async (): Promise<void> => {
      const before = manager.status()['sentiment']?.replicas[0];
      process.kill(before?.pid ?? 0, 'SIGKILL');
      await until(() => {
        const now = manager.status()['sentiment']?.replicas[0];
        return now?.state === 'ready' && now.pid !== before?.pid;
      }, 'it was restarted');
    };
    await writeFile(join(folder, 'greeter.test.ts'), '// two'); // no replica imports it
    await restart();
    assert.equal(lines, []);
    await writeFile(file, TYPESCRIPT.replace("'Hello'", "'Good evening'"));
    await restart();
    assert.equal(
      [lines.length, lines[0]?.includes('a replica runs other code than the first replica of its version')],
      [1, true],
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

Custom('is described with its schemas and texts', async () => {
  const { methods } = await sentiment();
  assert.equal(Object.keys(methods), ['classify', 'words', 'judge', 'facts', 'untilCancelled', 'fail', 'end']);
  const { description, streaming, inputSchema } = methods['classify']!;
  assert.equal([description, streaming], ['Returns whether a text is positive.', false]);
  assert.equal((inputSchema as { properties: object }).properties, {
    text: { type: 'string', minLength: 1 },
    threshold: { type: 'number', minimum: 0, maximum: 1, default: 0.1 },
  });
});

/** Compiled, never run. */
export async function types(handle: HandleOf<typeof SentimentDeployment>): Promise<void> {
  // @ts-expect-error the text is missing
  await handle.classify({});
  // @ts-expect-error there is no such method
  await handle.shout({ text: '' });
  // @ts-expect-error a stream is no promise
  const promise: Promise<unknown> = handle.words({ text: '' });
  // @ts-expect-error there is no such label
  if ((await handle.classify({ text: '' })).label === 'neutral') await promise;
  // @ts-expect-error the configuration has no such key
  SentimentDeployment.options({ user_config: { bad: [] } });
  // @ts-expect-error a class without methods cannot be deployed
  Base.options();
}

Custom.run();
