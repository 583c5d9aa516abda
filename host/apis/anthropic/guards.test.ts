// Keys, limits, failing streams and hostile requests of Anthropic's API, with the official client.
import Anthropic, {
  APIError,
  AuthenticationError,
  BadRequestError,
  PermissionDeniedError,
  RateLimitError,
} from '@anthropic-ai/sdk';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import type { ConfigInput } from 'aana-host';
import { type OpenAiApp, registerEndless, startOpenAiApp } from '../openai/fixtures/openai-app.ts';

const Guards = suite('guards of Anthropic’s API');
const HELLO = { model: 'tiny', max_tokens: 2, messages: [{ role: 'user' as const, content: 'Once upon a time' }] };

const clientOf = ({ url }: OpenAiApp, options: object = { apiKey: 'none' }): Anthropic =>
  new Anthropic({ baseURL: url, maxRetries: 0, ...options });

Guards('a key of ours is the key of the client, or its token; its scopes hold', async () => {
  await using at = await startOpenAiApp({ config: { api_service: { enabled: true } } });
  const wrong = await errorOf(clientOf(at, { apiKey: 'sk-unknown' }).messages.create(HELLO), AuthenticationError);
  assert.equal([wrong.status, wrong.type], [401, 'authentication_error']);
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann' });
  for (const options of [{ apiKey }, { authToken: apiKey }])
    assert.is((await clientOf(at, options).messages.create(HELLO)).content.length, 1);
  const { apiKey: reader } = await at.app.apiKeys!.create({ user_id: 'bob', scopes: ['/v1/models'] });
  const denied = await errorOf(clientOf(at, { apiKey: reader }).messages.create(HELLO), PermissionDeniedError);
  assert.is(denied.type, 'permission_error');
  const { apiKey: counter } = await at.app.apiKeys!.create({ user_id: 'bob', scopes: ['/v1/messages/count_tokens'] });
  const { model, messages } = HELLO;
  assert.ok((await clientOf(at, { apiKey: counter }).messages.countTokens({ model, messages })).input_tokens > 0);
  await errorOf(clientOf(at, { apiKey: counter }).messages.create(HELLO), PermissionDeniedError);
});

Guards('a limit has the exception of Anthropic, and strict servers refuse parameters by name', async () => {
  await using at = await startOpenAiApp({
    config: { rate_limits: { default: { capacity: 3, interval_seconds: 3600 } }, openai: { strict: true } },
  });
  const client = clientOf(at);
  const { headers } = await fetch(`${at.url}/v1/messages/count_tokens`, { method: 'POST' });
  const limit = (name: string): string | null => headers.get(`anthropic-ratelimit-requests-${name}`);
  assert.equal([limit('limit'), limit('remaining')], ['3', '2']);
  assert.ok(Date.parse(limit('reset')!) > Date.now());
  const strict = await errorOf(client.messages.create({ ...HELLO, inference_geo: 'eu' }), BadRequestError);
  assert.match(strict.message, /inference_geo/);
  assert.is((await client.messages.create({ ...HELLO, metadata: { user_id: 'me' } })).content.length, 1);
  const limited = await errorOf(client.messages.create(HELLO), RateLimitError);
  assert.equal([limited.status, limited.type], [429, 'rate_limit_error']);
  assert.ok(Number(limited.headers!.get('retry-after')) > 0);
});

Guards('a server without the API says so in the form of the API', async () => {
  await using at = await startOpenAiApp({ config: { openai: { enabled: false } } });
  const response = await at.post('/v1/messages', HELLO);
  assert.is(response.status, 404);
  const { error } = (await response.json()) as { error: { type: string } };
  assert.is(error.type, 'not_found_error');
});

const endless = (config: ConfigInput): Promise<OpenAiApp> => startOpenAiApp({ config, prepare: registerEndless });
const ENDLESS = { ...HELLO, model: 'endless', max_tokens: 1_000_000 };

Guards('a request that waits gets pings, and its answer afterwards', async () => {
  await using at = await endless({ limits: { stream_keep_alive_s: 0.05 } });
  const running = clientOf(at).messages.stream(ENDLESS);
  await running.emitted('text'); // it takes the only place of the engine
  const waiting = await at.post('/v1/messages', { ...HELLO, model: 'endless', stream: true });
  assert.is(waiting.status, 200);
  let text = '';
  const decoder = new TextDecoder();
  for await (const part of waiting.body!) {
    text += decoder.decode(part as Uint8Array, { stream: true });
    if (text.split('event: ping\ndata: {"type":"ping"}\n\n').length > 3) running.abort();
  }
  const told = text.replaceAll('event: ping\ndata: {"type":"ping"}\n\n', '');
  assert.match(told, /^event: message_start\n.*\n\nevent: content_block_start\n/);
  assert.ok(text.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n'), text);
});

Guards('an error in a stream is its last event, which the client throws', async () => {
  await using at = await endless({ limits: { invocation_timeout_s: 2 } });
  let pieces = 0;
  const stream = clientOf(at).messages.stream(ENDLESS);
  stream.on('text', () => (pieces += 1));
  const error = await errorOf(stream.finalMessage(), APIError);
  assert.ok(pieces > 1);
  assert.is(error.type, 'timeout_error');
  const response = await at.post('/v1/messages', { ...ENDLESS, stream: true });
  const text = await response.text();
  const [, last] = /event: error\ndata: (.*)\n\n$/.exec(text) ?? [];
  assert.equal(JSON.parse(last ?? 'null'), {
    type: 'error',
    error: { type: 'timeout_error', message: 'the request was ended after 2 seconds' },
    request_id: response.headers.get('request-id'),
  });
  assert.not(text.includes('message_stop'));
});

Guards('a client that leaves ends its answer', async () => {
  await using at = await endless({});
  const client = clientOf(at);
  const stream = client.messages.stream(ENDLESS);
  stream.on('text', () => stream.abort());
  await errorOf(stream.finalMessage(), APIError);
  // The only place of the engine is free again.
  assert.is((await client.messages.create({ ...HELLO, model: 'endless' })).stop_reason, 'max_tokens');
});

const manyOf = (block: object): object[] => Array.from({ length: 100_000 }, () => block);
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const withContent = (content: unknown): object => ({ ...HELLO, messages: [{ role: 'user', content }] });
const deepInput = `{"a":`.repeat(10_000) + '1' + '}'.repeat(10_000);
const withDeepInput = JSON.stringify({
  ...HELLO,
  messages: [
    ...HELLO.messages,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: 'DEEP' }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
  ],
}).replace('"DEEP"', deepInput);

const REFUSED: [what: string, status: number, body: unknown][] = [
  ['64 MB', 413, JSON.stringify(withContent('x'.repeat(64 * 1024 * 1024)))],
  ['nothing', 400, ''],
  ['no object', 400, '[]'],
  ['a depth of 10,000', 400, `{"model":"tiny","max_tokens":1,"messages":${nested(10_000)}}`],
  ['an input of a depth of 10,000', 400, withDeepInput],
  ['100,000 wrong blocks', 400, withContent(manyOf({ type: 'x' }))],
  ['100,000 images', 400, withContent(manyOf({ type: 'image' }))],
  ['100,000 results of nothing', 400, withContent(manyOf({ type: 'tool_result', tool_use_id: 'x' }))],
  ['20,000 tools', 400, { ...HELLO, tools: Array.from({ length: 20_000 }, () => ({ name: 'f', input_schema: {} })) }],
  ['a schema of another kind', 400, { ...HELLO, output_config: { format: { type: 'json_schema', schema: 5 } } }],
  ['a name of a model that is a path', 404, { ...HELLO, model: '../../etc/passwd' }],
  ['a lone surrogate as a stop sequence', 400, { ...HELLO, stop_sequences: ['\ud800'] }],
];

Guards('hostile requests are refused, and the server goes on', async () => {
  await using at = await startOpenAiApp();
  for (const [what, status, body] of REFUSED) {
    const response = await at.post('/v1/messages', body);
    const text = await response.text();
    assert.is(response.status, status, `${what}: ${text.slice(0, 300)}`);
    const { type, error } = JSON.parse(text);
    assert.is(type, 'error', what);
    assert.ok(error.message.length > 0 && error.message.length < 1000, `${what}: ${error.message.slice(0, 1000)}`);
  }
  assert.is((await clientOf(at).messages.create(HELLO)).stop_reason, 'max_tokens');
});

if (cannotRun !== undefined) skip('guards of Anthropic’s API', cannotRun);
else Guards.run();
