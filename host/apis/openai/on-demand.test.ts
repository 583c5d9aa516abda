// Models that requests start, from a hub on this machine, over real sockets.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyLlama } from '../../../native/lib/fixtures/tiny-llama.ts';
import { type FileServer, startFileServer } from '../../setup/models/sources/file-server.test.fixture.ts';
import { until } from '../../test/helpers/server.ts';
import { type OpenAiApp, startOpenAiApp } from './fixtures/openai-app.ts';

const OnDemand = suite('models on demand');
const limits = { keep_alive_s: 1, max_models: 1, max_bytes: 100_000_000 };
let folder = '';
let hub: FileServer;
let at: OpenAiApp;
let key: Readonly<Record<string, string>> = {};
let admin: Readonly<Record<string, string>> = {};

OnDemand.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'aana-on-demand-'));
  hub = await startFileServer();
  for (const repo of ['owner/one', 'owner/two', 'other/three']) {
    const path = join(folder, 'tiny.gguf');
    writeTinyLlama(path, { contextTokens: repo === 'owner/two' ? 65_536 : 512 }); // the second one answers for long
    const bytes = readFileSync(path);
    const siblings = [
      { rfilename: 'tiny.gguf', size: bytes.length },
      { rfilename: 'vast.gguf', size: limits.max_bytes + 1 },
    ];
    hub.files.set(`/api/models/${repo}`, Buffer.from(JSON.stringify({ siblings })));
    hub.files.set(`/${repo}/resolve/main/tiny.gguf`, bytes);
  }
  at = await startOpenAiApp({
    config: {
      cache_dir: folder,
      api_service: { enabled: true },
      models: { hf_endpoint: hub.url },
      openai: {
        aliases: { gpt: 'owner/one', both: { deployments: [{ name: 'away/gone' }], fallbacks: ['tiny'] } },
        on_demand: { models: ['owner/*', 'owner/one', 'away/gone', 'qwen*'], ...limits },
      },
    },
  });
  const header = async (options: object): Promise<Readonly<Record<string, string>>> => ({
    authorization: `Bearer ${(await at.app.apiKeys!.create({ user_id: 'ann', ...options })).apiKey}`,
  });
  key = await header({});
  admin = await header({ user_id: 'root', is_admin: true });
});
OnDemand.after(async () => {
  await at?.[Symbol.asyncDispose]();
  await hub?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const chat = (model: string, more: object = {}) => ({
  ...{ model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 2 },
  ...more,
});
const ask = (model: string, more: object = {}, headers = key): Promise<Response> =>
  at.post('/v1/chat/completions', chat(model, more), headers);
const models = async (headers = key): Promise<Record<string, string>> => {
  const { data } = (await (await fetch(`${at.url}/v1/models`, { headers })).json()) as {
    data: { id: string; state: string }[];
  };
  return Object.fromEntries(data.map(({ id, state }) => [id, state]));
};
const started = async (): Promise<string[]> => {
  const { deployments } = (await (await fetch(`${at.url}/api/status`, { headers: admin })).json()) as {
    deployments: object;
  };
  return Object.keys(deployments).filter((name) => name !== 'app' && name !== 'tiny');
};

OnDemand('are listed before somebody asks for them, also by their aliases', async () => {
  const listed = await models();
  assert.equal([listed['owner/one'], listed['gpt'], listed['tiny']], ['UNLOADED', 'UNLOADED', 'RUNNING']);
  assert.is(listed['qwen2.5-coder-0.5b-instruct'], 'UNLOADED');
  assert.equal(await started(), []);
});

OnDemand('start once for requests at the same time, are deployments, and end when nobody asks', async () => {
  const answers = await Promise.all([ask('owner/one'), ask('gpt'), ask('owner/one', { stream: true })]);
  for (const answer of answers) {
    const text = await answer.text();
    assert.equal([answer.status, answer.headers.get('x-aana-deployment')], [200, 'owner/one'], text);
    assert.not.match(text, /"error"/);
  }
  assert.is(hub.seen.filter(({ url }) => url.startsWith('/owner/one/resolve/')).length, 1);
  assert.equal(await started(), ['owner/one']);
  await until(async () => (await started()).length === 0);
  assert.is((await models())['owner/one'], 'UNLOADED');
  assert.is((await ask('owner/one')).status, 200, 'it starts again');
});

OnDemand('make room for each other, and not for those that are in use', async () => {
  assert.is((await ask('owner/one')).status, 200);
  const used = await ask('owner/two', { stream: true, max_tokens: null, ignore_eos: true });
  const reader = used.body!.getReader();
  await reader.read();
  assert.equal(await started(), ['owner/two']);
  const refused = await ask('owner/one');
  const { error } = (await refused.json()) as { error: { code: string; message: string } };
  assert.equal([refused.status, error.code], [503, 'insufficient_resources']);
  assert.match(error.message, /^1 models \(openai\.on_demand\.max_models\)/);
  assert.ok(refused.headers.get('retry-after'));
  await reader.cancel();
  await until(async () => (await ask('owner/one')).status === 200);
});

OnDemand('are refused in the words of the caller', async () => {
  const code = async (model: string, path = '/v1/chat/completions'): Promise<unknown[]> => {
    const answer = await at.post(path, { ...chat(model), input: 'a' }, key);
    return [answer.status, ((await answer.json()) as { error: { code: string } }).error.code];
  };
  assert.equal(await code('other/three'), [404, 'model_not_found'], 'not allowed');
  for (const unknown of ['owner/unknown', 'owner/one/unknown.gguf'])
    assert.equal(await code(unknown), [404, 'model_not_found'], 'the hub does not have it');
  const large = await ask('owner/one/vast.gguf');
  const { error } = (await large.json()) as { error: { param: string; message: string } };
  assert.equal([large.status, error.param], [400, 'model']);
  assert.match(error.message, /has 100000001 bytes.*openai\.on_demand\.max_bytes/);
  for (const path of [join(folder, 'tiny.gguf'), './tiny.gguf', '../owner/one', 'owner/../../etc/passwd'])
    assert.equal(await code(path), [404, 'model_not_found']);
  assert.equal(await code('qwen2.5-coder-0.5b-instruct', '/v1/embeddings'), [404, 'model_not_found']);
  hub.handler = ({ url }, response) => {
    if (url?.startsWith('/api/models/away/') !== true) return false;
    response.destroy();
    return true;
  };
  assert.equal((await code('away/gone'))[0], 503);
  assert.is((await ask('both')).headers.get('x-aana-deployment'), 'tiny', 'an alias goes to its fallback');
  assert.equal(
    (await started()).filter((name) => name !== 'owner/one'),
    [],
  );
});

OnDemand('are those that the API key allows', async () => {
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'bob', scopes: ['model:owner/two'] });
  const headers = { authorization: `Bearer ${apiKey}` };
  assert.is((await ask('owner/one', {}, headers)).status, 404);
  assert.is((await ask('owner/two', {}, headers)).status, 200);
  assert.equal(Object.keys(await models(headers)), ['owner/two']);
});

OnDemand.run();
