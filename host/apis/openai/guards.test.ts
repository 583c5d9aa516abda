// Keys, limits and settings of the routes of OpenAI's API, with the official client.
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  toFile,
} from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Recorder } from '../../application/fixtures/recorder.ts';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { until } from '../../test/helpers/server.ts';
import { skip } from '../../test/skip.ts';
import { type ConfigInput, LlamaTextGenerationDeployment } from 'aana-host';
import { refusalOf } from '../http/sockets/fixtures/socket-client.ts';
import { llamaOptions, type OpenAiApp, registerEndless, startOpenAiApp } from './fixtures/openai-app.ts';

const Guards = suite('guards and settings of OpenAI’s API');
const HELLO = { model: 'tiny', messages: [{ role: 'user' as const, content: 'Once upon a time' }], max_tokens: 2 };

const withKey = (at: OpenAiApp, apiKey: string): OpenAI =>
  new OpenAI({ baseURL: `${at.url}/v1`, apiKey, maxRetries: 0 });

Guards('a key of ours is the key of the client; its scopes hold, and its user is the tenant', async () => {
  const telemetry = new Recorder();
  await using at = await startOpenAiApp({
    config: { api_service: { enabled: true } },
    options: { telemetry },
    prepare: (app, tiny) =>
      app.registerDeployment(
        'watched',
        LlamaTextGenerationDeployment.options({
          health_check_period_s: 0.2,
          user_config: { model_id: tiny, model_kwargs: { n_ctx: 512, n_threads: 1, n_seq_max: 1 } },
        }),
      ),
  });
  const wrong = await errorOf(withKey(at, 'sk-unknown').chat.completions.create(HELLO), AuthenticationError);
  assert.equal([wrong.status, wrong.code, wrong.type], [401, 'invalid_api_key', 'invalid_request_error']);
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann' });
  const answer = await withKey(at, apiKey).chat.completions.create({ ...HELLO, model: 'watched' });
  assert.is(answer.choices.length, 1);
  const waits = (): unknown[] =>
    telemetry.of('aana.engine.request.wait').map(({ attributes }) => attributes['aana.tenant']);
  await until(async () => waits().includes('ann'));
  assert.ok(
    telemetry
      .of('http.server.request.duration')
      .some(({ attributes }) => attributes['http.route'] === '/v1/chat/completions'),
  );

  const { apiKey: reader } = await at.app.apiKeys!.create({ user_id: 'bob', scopes: ['/v1/models'] });
  const client = withKey(at, reader);
  assert.is((await client.models.list()).data.length, 2);
  const denied = await errorOf(client.chat.completions.create(HELLO), PermissionDeniedError);
  assert.is(denied.code, 'insufficient_permissions');
  const { apiKey: all } = await at.app.apiKeys!.create({ user_id: 'bob', scopes: ['/v1/*'] });
  assert.is((await withKey(at, all).chat.completions.create(HELLO)).choices.length, 1);

  const upload = async () => ({ file: await toFile(Buffer.from('audio'), 'a.wav'), model: 'whisper-1' });
  await errorOf(client.audio.transcriptions.create(await upload()), PermissionDeniedError);
  await errorOf(client.audio.translations.create(await upload()), PermissionDeniedError);
  const missing = await errorOf(withKey(at, all).audio.transcriptions.create(await upload()), NotFoundError);
  assert.is(missing.code, 'model_not_found');
  assert.match(
    missing.message,
    /add a model of speech to text \(WhisperDeployment or TransformersDeployment\) to its deployments/,
  );
});

Guards('a key for some models sees and uses these, and no others', async () => {
  await using at = await startOpenAiApp({
    config: { api_service: { enabled: true }, openai: { aliases: { 'gpt-4o': 'tiny', 'gpt-4o-mini': 'second' } } },
    prepare: (app, tiny) => app.registerDeployment('second', llamaOptions(tiny)),
  });
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann', scopes: ['model:tiny', 'tasks'] });
  const client = withKey(at, apiKey);
  assert.equal(
    (await client.models.list()).data.map(({ id }) => id),
    ['tiny', 'gpt-4o'],
  );
  for (const model of ['tiny', 'gpt-4o'])
    assert.is((await client.chat.completions.create({ ...HELLO, model })).choices.length, 1);
  for (const model of ['second', 'gpt-4o-mini']) {
    const missing = await errorOf(client.chat.completions.create({ ...HELLO, model }), NotFoundError);
    assert.is(missing.code, 'model_not_found');
    assert.match(missing.message, /the models are tiny, gpt-4o$/);
    await errorOf(client.models.retrieve(model), NotFoundError);
  }
  const headers = { authorization: `Bearer ${apiKey}` };
  assert.is((await at.post('/chat/completions', HELLO, headers)).status, 200);
  assert.is((await at.post('/chat/completions', { ...HELLO, model: 'second' }, headers)).status, 404);
  assert.is((await at.post('/v1/messages', { ...HELLO, model: 'second' }, headers)).status, 404);
  assert.is((await at.post('/other', {}, headers)).status, 403);
  const { apiKey: all } = await at.app.apiKeys!.create({ user_id: 'bob', scopes: ['model:tiny', '/v1/*'] });
  assert.is((await withKey(at, all).chat.completions.create({ ...HELLO, model: 'second' })).choices.length, 1);
});

Guards('nothing tells clients the folders of the machine', async () => {
  await using at = await startOpenAiApp();
  assert.is(((await at.client.models.retrieve('tiny')) as { model?: unknown }).model, 'tiny.gguf');
  assert.is((await at.client.chat.completions.create({ ...HELLO, model: 'tiny.gguf' })).choices.length, 1);
  const long = [{ role: 'user' as const, content: 'dog '.repeat(2000) }];
  const error = await errorOf(at.client.chat.completions.create({ ...HELLO, messages: long }), BadRequestError);
  assert.is(error.code, 'context_length_exceeded');
  assert.match(error.message, /^400 tiny\.gguf cannot take the prompt: /);
});

Guards('a limit has the headers and the exception of OpenAI', async () => {
  await using at = await startOpenAiApp({
    config: { rate_limits: { default: { capacity: 2, interval_seconds: 3600 } } },
  });
  const { response } = await at.client.models.list().withResponse();
  const header = (name: string): string | null => response.headers.get(`x-ratelimit-${name}-requests`);
  assert.equal([header('limit'), header('remaining')], ['2', '1']);
  assert.match(header('reset')!, /^[0-9]+s$/);
  await at.client.models.list();
  const limited = await errorOf(at.client.models.list().withResponse(), RateLimitError);
  assert.equal([limited.code, limited.type, limited.status], ['rate_limit_exceeded', 'rate_limit_error', 429]);
  assert.ok(Number(limited.headers!.get('retry-after')) > 0);
});

Guards('users without an active subscription have no quota where it is required', async () => {
  await using at = await startOpenAiApp({
    config: { api_service: { enabled: true }, openai: { active_subscription_required: true } },
  });
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann' });
  const client = withKey(at, apiKey);
  const stored = await client.responses.create({ model: 'tiny', input: 'Once', max_output_tokens: 1 });
  await at.app.apiKeys!.setSubscription('ann', false);
  for (const path of ['chat/completions', 'completions', 'embeddings', 'responses', 'Chat/Completions/'])
    await errorOf(client.post(`/${path}`, { body: HELLO }), RateLimitError);
  const error = await errorOf(client.chat.completions.create(HELLO), RateLimitError);
  assert.equal([error.status, error.code, error.type], [429, 'insufficient_quota', 'insufficient_quota']);
  assert.match(error.message, /\/v1\/chat\/completions needs an active subscription$/);
  const headers = { authorization: `Bearer ${apiKey}` };
  assert.is((await at.post('/chat/completions', HELLO, headers)).status, 403);
  assert.is((await at.post('/v1/messages', HELLO, headers)).status, 403);
  assert.is((await fetch(`${at.url}/v1/realtime`, { headers })).status, 426, 'it asks for no socket');
  const socket = await refusalOf(`${at.url.replace('http', 'ws')}/v1/realtime`, { headers });
  assert.equal([socket.status, socket.body.error.code], [429, 'insufficient_quota']);
  assert.is((await client.models.list()).data.length, 1);
  assert.is((await client.responses.retrieve(stored.id)).id, stored.id);
  await client.responses.delete(stored.id);
  await at.app.apiKeys!.setSubscription('ann', true);
  assert.is((await client.chat.completions.create(HELLO)).choices.length, 1);
});

Guards('users take turns in the queue of a model', async () => {
  await using at = await startOpenAiApp({
    config: { api_service: { enabled: true }, limits: { stream_keep_alive_s: 0.05 } },
    prepare: registerEndless,
  });
  const keyOf = async (user_id: string): Promise<string> => (await at.app.apiKeys!.create({ user_id })).apiKey;
  const [ann, bob] = [await keyOf('ann'), await keyOf('bob')];
  const request = { ...HELLO, model: 'endless' };
  // So long that the ends of answers arrive one after another.
  const long = { ...ENDLESS, max_tokens: 200 };
  // It takes the only place of the engine.
  const running = await withKey(at, ann).chat.completions.create({ ...request, ...ENDLESS, stream: true });
  await running[Symbol.asyncIterator]().next();
  const ends: string[] = [];
  const works: (() => Promise<void>)[] = [];
  for (const [name, key] of [
    ['ann 1', ann],
    ['ann 2', ann],
    ['ann 3', ann],
    ['bob 1', bob],
  ] as const) {
    const headers = { authorization: `Bearer ${key}` };
    // The answer has a status as soon as the request waits.
    const waiting = await at.post('/v1/chat/completions', { ...request, ...long, stream: true }, headers);
    assert.is(waiting.status, 200);
    works.push(async () => {
      const text = await waiting.text();
      assert.ok(text.endsWith('data: [DONE]\n\n'), text);
      ends.push(name);
    });
  }
  running.controller.abort();
  await Promise.all(works.map((work) => work()));
  assert.ok(ends.indexOf('bob 1') < ends.indexOf('ann 3'), ends.join(', '));
});

Guards('strict servers refuse parameters without effect by name', async () => {
  await using at = await startOpenAiApp({ config: { openai: { strict: true } } });
  const refused: [more: object, param: string][] = [
    [{ store: true }, 'store'],
    [{ made_up: 1 }, 'made_up'],
    [{ modalities: ['text', 'audio'] }, 'modalities'],
  ];
  for (const [more, param] of refused) {
    const error = await errorOf(at.client.chat.completions.create({ ...HELLO, ...more }), BadRequestError);
    assert.equal([error.code, error.param], ['unsupported_parameter', param]);
  }
  const harmless = { user: 'me', metadata: { a: 'b' }, store: false, modalities: ['text' as const], seed: null };
  assert.is((await at.client.chat.completions.create({ ...HELLO, ...harmless })).choices.length, 1);
});

Guards('a server without the API says so, on all of its paths', async () => {
  await using at = await startOpenAiApp({ config: { openai: { enabled: false } } });
  for (const path of ['/v1/chat/completions', '/v1/models', '/chat/completions']) {
    const response = await at.post(path, HELLO);
    assert.is(response.status, 404);
    const { error } = (await response.json()) as { error: { message: string } };
    assert.is(error.message, 'The OpenAI-compatible endpoint is not enabled.');
  }
  const { paths } = (await (await fetch(`${at.url}/openapi.json`)).json()) as { paths: object };
  assert.not(Object.keys(paths).some((path) => path.startsWith('/v1') || path === '/chat/completions'));
});

/** Parameters of an answer that never ends: the context forgets its beginning. */
const ENDLESS = { max_tokens: 100_000_000, overflow: 'shift' };

const endless = (config: ConfigInput): Promise<OpenAiApp> => startOpenAiApp({ config, prepare: registerEndless });

Guards('a request that waits gets comments, and its answer afterwards', async () => {
  await using at = await endless({ limits: { stream_keep_alive_s: 0.05 } });
  // It takes the only place of the engine.
  const running = await at.client.chat.completions.create({ ...HELLO, model: 'endless', ...ENDLESS, stream: true });
  const chunks = running[Symbol.asyncIterator]();
  await chunks.next();
  const waiting = await at.post('/v1/chat/completions', { ...HELLO, model: 'endless', stream: true });
  assert.is(waiting.status, 200);
  let text = '';
  const decoder = new TextDecoder();
  for await (const part of waiting.body!) {
    text += decoder.decode(part as Uint8Array, { stream: true });
    if (text.split(': \n\n').length > 3) running.controller.abort();
  }
  const begin = text.indexOf('data: ');
  assert.ok(begin > 3 && text.slice(0, begin).replaceAll(': \n\n', '') === '', text);
  assert.ok(text.endsWith('data: [DONE]\n\n'), text);
});

Guards('an error in a stream is its last event, which the client throws', async () => {
  await using at = await endless({ limits: { invocation_timeout_s: 2 } });
  const request = { ...HELLO, model: 'endless', ...ENDLESS, stream: true } as const;
  let chunks = 0;
  const read = async (): Promise<void> => {
    for await (const chunk of await at.client.chat.completions.create(request)) chunks += chunk.choices.length;
  };
  const error = await errorOf(read(), APIError);
  assert.ok(chunks > 1);
  assert.equal([error.code, error.type], ['timeout_error', 'server_error']);
  const text = await (await at.post('/v1/chat/completions', request)).text();
  assert.match(text, /data: \{"error":\{"message":"the request was ended after 2 seconds"[^\n]*\n\n$/);
  assert.not(text.includes('[DONE]'));
});

Guards('a client that leaves ends its answer', async () => {
  await using at = await endless({});
  const leaving = new AbortController();
  const stream = await at.client.chat.completions.create(
    { ...HELLO, model: 'endless', ...ENDLESS, stream: true },
    { signal: leaving.signal },
  );
  for await (const _chunk of stream) leaving.abort();
  // The only place of the engine is free again.
  assert.is((await at.client.chat.completions.create({ ...HELLO, model: 'endless' })).choices.length, 1);
});

if (cannotRun !== undefined) skip('guards and settings of OpenAI’s API', cannotRun);
else Guards.run();
