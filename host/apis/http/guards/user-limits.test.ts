// Limits of users, with a real language model: the tokens of a text, of a minute and of a month, requests at once and
// waiting tasks, for users, keys and addresses, and while the host runs.
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import OpenAI, { RateLimitError } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { type OpenAiApp, registerEndless, startOpenAiApp } from '../../openai/fixtures/openai-app.ts';

const Limits = suite('limits of users');
const DAY_S = 86_400;
let app: OpenAiApp;
const keys: Record<string, string> = {};
/** Ends the answer of `/held`. */
let releaseHeld = (): void => {};

Limits.before(async () => {
  app = await startOpenAiApp({
    config: {
      api_service: { enabled: true },
      dashboard: { port: 0 },
      task_queue: { num_workers: 1 },
      user_limits: {
        max_output_tokens: 20,
        users: {
          long: { max_output_tokens: 30 },
          free: { max_output_tokens: null },
          minute: { tokens_per_minute: 6 }, // one comes back in ten seconds
          month: { tokens_per_month: 60 },
          tasks: { tokens_per_minute: 1_000_000, tokens_per_month: 5 },
          busy: { max_requests: 2 },
        },
        keys: { 'long-2': { max_output_tokens: 5 }, 'busy-2': { max_requests: 1 } },
      },
    },
    prepare: (made, tiny) => {
      registerEndless(made, tiny);
      const input = z.strictObject({});
      const output = z.any();
      made.registerEndpoint({
        ...{ name: 'held', path: '/held', input, output },
        run: async () => new Promise<string>((resolve) => (releaseHeld = () => resolve('done'))),
      });
      made.registerEndpoint({
        ...{ name: 'write', path: '/write', input, output },
        run: async () => made.handle('tiny').call('generate', { prompt: 'a b c', sampling_params: ENDLESS }),
      });
    },
  });
  const users = ['long', 'free', 'minute', 'month', 'tasks', 'busy', 'plain'];
  for (const user of users) keys[user] = (await app.app.apiKeys!.create({ user_id: user })).apiKey;
  for (const key of ['long-2', 'busy-2', 'minute-2'])
    keys[key] = (await app.app.apiKeys!.create({ user_id: key.slice(0, -2), key_id: key })).apiKey;
});
Limits.after(async () => {
  await app?.app.shutdown({ graceMs: 0 });
  await app?.[Symbol.asyncDispose]();
});

const ENDLESS = { ignore_eos: true, max_tokens: 400 };
const clientOf = (user: string): OpenAI => new OpenAI({ baseURL: `${app.url}/v1`, apiKey: keys[user]!, maxRetries: 0 });
async function complete(user: string, params: object = {}) {
  const made = clientOf(user).completions.create({
    ...{ model: 'tiny', prompt: 'a b c', max_tokens: 400 },
    ...({ ignore_eos: true, ...params } as object),
  });
  const { data, response } = await made.withResponse();
  return { finish: data.choices[0]?.finish_reason, tokens: data.usage!.completion_tokens, headers: response.headers };
}
const post = (user: string, path: string): Promise<Response> => app.post(path, {}, { 'x-api-key': keys[user]! });

Limits('end a longer text with the reason length, for each of several texts', async () => {
  for (const [user, most] of [
    ['plain', 20],
    ['long', 30],
    ['long-2', 5],
  ] as const) {
    const { finish, tokens } = await complete(user);
    assert.equal([user, finish, tokens], [user, 'length', most]);
  }
  assert.equal((await complete('free', { max_tokens: 40 })).tokens, 40);
  assert.equal((await complete('plain', { n: 2 })).tokens, 40);
  assert.equal((await complete('plain', { max_tokens: 7 })).tokens, 7, 'a smaller wish counts');
  assert.equal((await complete('plain', { max_tokens: 50, min_tokens: 40 })).tokens, 20);
  const chat = await clientOf('plain').chat.completions.create({
    ...{ model: 'endless', messages: [{ role: 'user', content: 'a' }], stream: true },
    stream_options: { include_usage: true },
  });
  let [finish, tokens]: [string | null | undefined, number | undefined] = [undefined, undefined];
  for await (const { choices, usage } of chat) {
    finish ??= choices[0]?.finish_reason;
    tokens = usage?.completion_tokens ?? tokens;
  }
  assert.equal([finish, tokens], ['length', 20], 'a text without a wish ends too');
  const own = (await (await post('plain', '/write')).json()) as { text: string; finish_reason?: string };
  assert.ok(own.text.length > 0 && own.text.length < 200, JSON.stringify(own)); // of an endpoint's own code
});

Limits('of tokens a minute refuse further calls for all keys of the user, and say when there are more', async () => {
  const first = await complete('minute');
  assert.is(first.headers.get('x-ratelimit-limit-tokens'), '6');
  while (
    Number((await complete('minute').catch(() => undefined))?.headers.get('x-ratelimit-remaining-tokens') ?? 0) > 0
  );
  for (const user of ['minute', 'minute-2']) {
    const error = (await errorOf(complete(user), RateLimitError)) as InstanceType<typeof OpenAI.APIError>;
    assert.equal([error.code, error.type], ['rate_limit_exceeded', 'rate_limit_error']);
    assert.match(error.message, /over the limit of 6 tokens in a minute: try again in \d+ seconds?$/);
    assert.ok(Number(error.headers!.get('retry-after')) >= 1 && Number(error.headers!.get('retry-after')) <= 600);
    assert.is(error.headers!.get('x-ratelimit-remaining-tokens'), '0');
  }
  const anthropic = new Anthropic({ baseURL: app.url, apiKey: keys['minute']!, maxRetries: 0 });
  const refused = await errorOf<APIError>(
    anthropic.messages.create({ model: 'tiny', max_tokens: 5, messages: [{ role: 'user', content: 'a' }] }),
    APIError as never,
  );
  assert.equal([refused.status, refused.type], [429, 'rate_limit_error']);
  assert.is(refused.headers?.get('anthropic-ratelimit-tokens-remaining'), '0');
  assert.is((await post('minute', '/write')).status, 429, 'also for the code of an endpoint');
  const reading = await fetch(`${app.url}/v1/models`, { headers: { 'x-api-key': keys['minute']! } });
  assert.is(reading.status, 200, 'requests that need no tokens are answered');
  await complete('plain');
});

Limits('of tokens a month are an exhausted quota until the month ends', async () => {
  const refusals = async (): Promise<RateLimitError> => {
    for (;;) {
      const error = await complete('month').then(
        () => undefined,
        (thrown: unknown) => thrown as RateLimitError,
      );
      if (error) return error;
    }
  };
  const error = await refusals();
  assert.equal([error.status, error.code, error.type], [429, 'insufficient_quota', 'insufficient_quota']);
  assert.match(error.message, /over the limit of 60 tokens in a calendar month \(UTC\)/);
  const now = new Date();
  const left = (Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) - now.getTime()) / 1000;
  const told = Number(error.headers!.get('retry-after'));
  assert.ok(told % (31 * DAY_S) > 0 && (Math.abs(told - left) < 600 || left < 600), `${told} ${left}`);
});

Limits('of requests at once count what is being answered', async () => {
  const held: Promise<Response>[] = [];
  const releases: (() => void)[] = [];
  const hold = async (user: string, signal?: AbortSignal): Promise<void> => {
    const before = (releaseHeld = () => {});
    const headers = { 'x-api-key': keys[user]!, 'content-type': 'application/json' };
    held.push(fetch(`${app.url}/held`, { method: 'POST', headers, body: '{}', ...(signal && { signal }) }));
    while (releaseHeld === before) await new Promise((resolve) => setTimeout(resolve, 5));
    releases.push(releaseHeld);
  };
  await hold('busy-2');
  const ofKey = await post('busy-2', '/write');
  assert.equal([ofKey.status, ofKey.headers.get('retry-after')], [429, '1']);
  assert.match(((await ofKey.json()) as { message: string }).message, /over the limit of 1 requests? at the same time/);
  await hold('busy');
  assert.is((await post('busy', '/write')).status, 429);
  assert.is((await fetch(`${app.url}/v1/models`, { headers: { 'x-api-key': keys['busy']! } })).status, 200);
  assert.is((await post('plain', '/write')).status, 200, 'another user is answered');
  for (const release of releases) release();
  for (const response of await Promise.all(held.splice(0))) assert.is(response.status, 200);
  const gone = new AbortController();
  for (let times = 0; times < 2; times += 1) await hold('busy', gone.signal);
  assert.is((await post('busy', '/write')).status, 429);
  gone.abort();
  await Promise.allSettled(held);
  while ((await post('busy', '/write')).status !== 200); // the connections end a moment later
});

Limits('keep a task without tokens waiting, and do not use up its attempts', async () => {
  const defer = async (user: string): Promise<() => Promise<string>> => {
    const { task_id: id } = (await (await post(user, '/write?defer=true')).json()) as { task_id: string };
    return async () => {
      const task = await fetch(`${app.url}/tasks/${id}`, { headers: { 'x-api-key': keys[user]! } });
      return ((await task.json()) as { status: string }).status;
    };
  };
  const until = async (statusOf: () => Promise<string>, status: string): Promise<void> => {
    while ((await statusOf()) !== status) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await until(await defer('tasks'), 'completed'); // goes over the limit
  const second = await defer('tasks');
  await until(second, 'not_finished');
  await until(await defer('plain'), 'completed'); // the endpoint is not paused for others
  assert.is(await second(), 'not_finished');
});

Limits('change while the host runs', async () => {
  const url = new URL(await app.app.openDashboard());
  const send = async (what: 'plan' | 'apply', config: object): Promise<string> => {
    const response = await fetch(`${url.origin}/api/configuration/${what}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${url.hash.replace('#token=', '')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(config),
    });
    return response.text();
  };
  const next = {
    user_limits: { users: { plain: { max_output_tokens: 3 } } },
    task_queue: { users: { plain: { maximum_waiting_tasks_per_user: 1 } } },
  };
  const plan = JSON.parse(await send('plan', next)) as { settings: string[]; refused: unknown[] };
  assert.equal(plan.refused, [], JSON.stringify(plan));
  assert.equal(plan.settings, ['task_queue.users', 'user_limits.users']);
  assert.is((await complete('plain')).tokens, 20, 'a plan changes nothing');
  assert.match(await send('apply', next), /"applied"/);
  assert.is((await complete('plain')).tokens, 3);
  const before = (releaseHeld = () => {});
  await post('plain', '/held?defer=true');
  while (releaseHeld === before) await new Promise((resolve) => setTimeout(resolve, 5)); // it runs
  assert.is((await post('plain', '/held?defer=true')).status, 200, 'one may wait');
  const third = await post('plain', '/held?defer=true');
  assert.equal([third.status, ((await third.json()) as { error: string }).error], [429, 'TooManyTasks']);
  releaseHeld();
});

Limits.run();
