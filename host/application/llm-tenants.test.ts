// Users of a language model through a running application: their parts of it, and what is measured of it.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { writeTinyLlama } from '../../native/lib/fixtures/tiny-llama.ts';
import { cannotRun } from '../inference/engines/fixtures/cannot-run.ts';
import { until } from '../test/helpers/server.ts';
import { skip } from '../test/skip.ts';
import { LlamaTextGenerationDeployment } from '../inference/deployments/index.ts';
import type { AanaApp } from './app.ts';
import { Recorder } from './fixtures/recorder.ts';
import { makeApp, makeFolder, started } from './fixtures/test-app.ts';

const Tenants = suite('users of a language model');
const folder = makeFolder();
const telemetry = new Recorder();
let app: AanaApp;
const keys = new Map<string, string>();
/** Calls of the model wait for it, so that all requests of a test have come before the first one is answered. */
let arrived = 0;
let gate: Promise<unknown> = Promise.resolve();

Tenants.before(async () => {
  const path = join(folder, 'tiny.gguf');
  writeTinyLlama(path);
  app = makeApp(
    folder,
    { telemetry },
    {
      cache_dir: process.env['AANA_CACHE_DIR'] ?? folder,
      api_service: { enabled: true, user_weights: { large: 3, small: 1 } },
    },
  );
  app.registerDeployment(
    'llm',
    LlamaTextGenerationDeployment.options({
      health_check_period_s: 0.2,
      user_config: {
        model_id: path,
        model_kwargs: { n_ctx: 512, n_threads: 1, n_seq_max: 1 },
        default_sampling_params: { ignore_eos: true },
      },
    }),
  );
  for (const name of ['one', 'other'])
    app.registerDeployment(
      name,
      LlamaTextGenerationDeployment.options({
        user_config: { model_id: path, model_kwargs: { n_ctx: 256, n_threads: 1, n_seq_max: 2 } },
      }),
    );
  app.registerEndpoint({
    name: 'say',
    path: '/say',
    input: z.strictObject({ tokens: z.int(), within_ms: z.optional(z.int()) }),
    output: z.unknown(),
    async run({ tokens, within_ms: limit }, context) {
      arrived += 1;
      await gate;
      return app
        .handle(LlamaTextGenerationDeployment, 'llm')
        .generate(
          { prompt: 'Once upon a time', sampling_params: { max_tokens: tokens } },
          limit === undefined ? context : { ...context, deadlineAt: performance.now() + limit },
        );
    },
  });
  await started(app);
  for (const user of ['large', 'small']) {
    const { apiKey } = await app.apiKeys!.create({ user_id: user });
    keys.set(user, apiKey);
  }
});

Tenants.after(async () => {
  await app?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const last = (name: string): number | undefined => telemetry.of(name).at(-1)?.value;
const open = (): number => last('aana.deployment.calls.open') ?? 0;

async function say(user: string, tokens: number, more: object = {}): Promise<Response> {
  const response = await fetch(`${app.url}/say`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': keys.get(user)! },
    body: JSON.stringify({ tokens, ...more }),
  });
  await response.clone().text();
  return response;
}

Tenants('get parts of it by their weights, however many requests they send', async () => {
  await say('large', 40); // the pool learns how long an answer takes
  const order: string[] = [];
  const send = async (user: string): Promise<void> => {
    const response = await say(user, 40);
    assert.is(response.status, 200, await response.text());
    order.push(user);
  };
  const users = [...Array<string>(16).fill('small'), ...Array<string>(24).fill('large')];
  let openGate = (): void => {};
  gate = new Promise<void>((resolve) => (openGate = resolve));
  arrived = 0;
  const answered = Promise.all(users.map(send));
  await until(async () => arrived === users.length);
  openGate();
  await answered;
  // Even parts are 0.5. The first calls went to the replica before others waited. Both have requests until all 24 of
  // the one user are answered.
  const share = order.slice(8, 24).filter((user) => user === 'large').length / 16;
  assert.ok(share > 0.6 && share < 0.9, `${share} of ${order.join(' ')}`);
});

Tenants('are measured with the engine', async () => {
  const sum = (name: string): number => telemetry.of(name).reduce((all, { value }) => all + value, 0);
  await until(async () => sum('aana.engine.tokens.generated') >= 41 * 40 && last('aana.engine.requests.running') === 0);
  const prompt = sum('aana.engine.tokens.prompt');
  assert.ok(prompt >= 41 * 4, `${prompt}`);
  assert.ok(sum('aana.engine.tokens.reused') > 0, 'requests of one user that follow each other share their beginning');
  assert.ok(sum('aana.engine.tokens.computed') >= 41 * 39);
  assert.ok(sum('aana.engine.steps') > 0 && sum('aana.engine.passes') >= sum('aana.engine.steps'));
  assert.ok(sum('aana.engine.prefill.time') > 0 && sum('aana.engine.decode.time') > sum('aana.engine.prefill.time'));
  assert.equal(last('aana.engine.requests.waiting'), 0);
  const cells = last('aana.engine.cells.total')!;
  assert.is(cells, 512);
  assert.ok(last('aana.engine.cells.used')! > 0 && last('aana.engine.cells.used')! <= cells);
  assert.ok(telemetry.of('aana.engine.step.tokens').every(({ value }) => value >= 1));
  const waits = telemetry.of('aana.engine.request.wait');
  for (const [user, count] of [
    ['large', 25],
    ['small', 16],
  ] as const)
    assert.is(waits.filter(({ attributes }) => attributes['aana.tenant'] === user).length, count);
  assert.ok(waits.every(({ value, attributes }) => value >= 0 && attributes['aana.deployment'] === 'llm'));
});

Tenants('are told when to come back if their turn comes after the deadline', async () => {
  const before = telemetry.of('aana.deployment.calls.open').length;
  const running = Array.from({ length: 24 }, () => say('large', 400));
  const opened = (): { readonly value: number }[] => telemetry.of('aana.deployment.calls.open').slice(before);
  await until(async () => opened().some(({ value }) => value >= 8));
  const refused = await say('large', 1, { within_ms: 20 });
  const { error, data } = (await refused.json()) as { error: string; data: Record<string, number> };
  assert.equal([refused.status, error], [503, 'DeploymentOverloaded']);
  assert.ok(data['estimated_wait_s']! > 0.02);
  assert.is(refused.headers.get('retry-after'), String(data['retry_after_s']));
  for (const { status } of await Promise.all(running)) assert.is(status, 200);
});

/** Returns the answer to a completion. */
async function complete(user: string, model: string, prompt: string, more: object = {}): Promise<Response> {
  return fetch(`${app.url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': keys.get(user)! },
    body: JSON.stringify({ model, prompt, max_tokens: 1, ...more }),
  });
}

const HOUSE = 'Once upon a time there was a little girl, and the number of her house was ';

/**
 * Asks about ten digits at each of three places of a number that `large` sends again and again, and goes on with the
 * digit that stands out. Returns the tokens that were cached and the number.
 */
async function attack(user: string, model: string, secret: number): Promise<{ seen: number[]; guess: string }> {
  const seen: number[] = [];
  let guess = '';
  for (let place = 0; place < 3; place++) {
    const cached: number[] = [];
    for (let digit = 0; digit < 10; digit++) {
      assert.is((await complete('large', model, `${HOUSE}${secret} and she had a dog`)).status, 200);
      const response = await complete(user, model, `${HOUSE}${guess}${digit} a dog`);
      const { usage } = (await response.json()) as { usage: { prompt_tokens_details: { cached_tokens: number } } };
      cached.push(usage.prompt_tokens_details.cached_tokens);
    }
    seen.push(...cached);
    // Before the first guess, the prompt of no other one was in the cache.
    guess += String(cached.indexOf(Math.max(...cached.slice(1)), 1));
  }
  return { seen, guess };
}

Tenants('learn nothing of the prompts of others from the tokens that were cached', async () => {
  assert.equal(await attack('small', 'one', 472), await attack('small', 'other', 935));
  // It finds a number that the same user sent.
  assert.is((await attack('large', 'one', 472)).guess, '472');
});

Tenants('get a place although another one has endless answers', async () => {
  const leaving = new AbortController();
  const endless = { max_tokens: 2_000_000_000, ignore_eos: true, overflow: 'shift', stream: true };
  const reading = Array.from({ length: 6 }, async () => {
    const response = await fetch(`${app.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': keys.get('large')! },
      body: JSON.stringify({ model: 'llm', prompt: 'Once upon a time', ...endless }),
      signal: leaving.signal,
    });
    return response.text();
  });
  await until(async () => open() === 6);
  // The engine is asked for this at its health checks. Only an answer without an end is sure to be seen by one.
  await until(async () => last('aana.engine.requests.running') === 1);
  const answer = await Promise.race([complete('small', 'llm', 'The dog', { max_tokens: 100 }), ...reading]);
  assert.ok(answer instanceof Response && answer.status === 200);
  const { usage } = (await answer.json()) as { usage: { completion_tokens: number } };
  assert.is(usage.completion_tokens, 100);
  await until(async () => telemetry.of('aana.engine.pauses').reduce((sum, { value }) => sum + value, 0) > 0);
  leaving.abort();
  for (const outcome of await Promise.allSettled(reading)) assert.is(outcome.status, 'rejected');
});

if (cannotRun === undefined) Tenants.run();
else skip('users of a language model', cannotRun);
