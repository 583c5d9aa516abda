// Models that requests start, from a hub on this machine, over real sockets.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyLlama } from '../../../native/lib/fixtures/tiny-llama.ts';
import { RelayDeployment } from '../../inference/deployments/fixtures/relay-deployment.ts';
import { type FileServer, startFileServer } from '../../setup/models/sources/file-server.test.fixture.ts';
import { createLogger } from '../../base/core/log/logger.ts';
import { deferred } from '../../base/core/deferred.ts';
import { until } from '../../test/helpers/server.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from './fixtures/openai-app.ts';

const OnDemand = suite('models on demand');
const limits = { keep_alive_s: 1, max_models: 1, max_bytes: 100_000_000 };
const allowed = ['owner/*', 'owner/one', 'away/gone', 'qwen*'];
const aliases = { gpt: 'owner/one', both: { deployments: [{ name: 'away/gone' }], fallbacks: ['tiny'] } };
const lines: string[] = [];
let folder = '';
let hub: FileServer;
let at: OpenAiApp;
let key: Readonly<Record<string, string>> = {};
let admin: Readonly<Record<string, string>> = {};

OnDemand.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'aana-on-demand-'));
  hub = await startFileServer();
  for (const repo of ['owner/one', 'owner/two', 'owner/long', 'other/three', 'owner/slow', 'qwen-of/another']) {
    const path = join(folder, 'tiny.gguf');
    const answersForLong = repo === 'owner/two' || repo === 'owner/long';
    writeTinyLlama(path, { contextTokens: answersForLong ? 65_536 : 512 });
    const bytes = readFileSync(path);
    const siblings = [
      { rfilename: 'tiny.gguf', size: bytes.length },
      { rfilename: 'vast.gguf', size: limits.max_bytes + 1 },
    ];
    hub.files.set(`/api/models/${repo}`, Buffer.from(JSON.stringify({ siblings })));
    hub.files.set(`/${repo}/resolve/main/tiny.gguf`, bytes);
  }
  at = await startOpenAiApp({
    options: { log: createLogger({ level: 'info', format: 'json', write: (line) => lines.push(line) }) },
    config: {
      cache_dir: folder,
      api_service: { enabled: true },
      models: { hf_endpoint: hub.url },
      openai: {
        aliases,
        on_demand: { models: allowed, ...limits },
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

OnDemand('end also if the first caller leaves before anything is known about them', async () => {
  await until(async () => (await started()).length === 0);
  const asked = deferred();
  const known = deferred();
  hub.handler = ({ url = '' }, response) => {
    if (!url.startsWith('/api/models/owner/slow')) return false;
    asked.resolve();
    void known.promise.then(() => response.end(hub.files.get('/api/models/owner/slow')));
    return true;
  };
  const leaving = new AbortController();
  const left = fetch(`${at.url}/v1/chat/completions`, {
    ...{ method: 'POST', signal: leaving.signal, body: JSON.stringify(chat('owner/slow')) },
    headers: { ...key, 'content-type': 'application/json' },
  }).catch(({ name }: Error) => name);
  await asked.promise;
  lines.length = 0;
  leaving.abort();
  assert.is(await left, 'AbortError');
  await until(async () => lines.some((line) => line.includes('"status":499')));
  assert.is((await ask('owner/one')).status, 503, 'the start that goes on needs its place');
  known.resolve();
  await until(async () => (await started()).includes('owner/slow'));
  await until(async () => (await started()).length === 0);
  hub.handler = undefined;
});

OnDemand('start again after an operator removed them, and are the operator’s who adds them', async () => {
  assert.is((await ask('owner/one')).status, 200);
  await at.app.unregisterDeployment('owner/one');
  assert.is((await ask('owner/one')).status, 200);
  await at.app.unregisterDeployment('owner/one');
  await at.app.registerDeployment('owner/one', llamaOptions(join(folder, 'tiny.gguf')), { deploy: true });
  assert.is((await ask('owner/one')).status, 200);
  assert.is((await ask('owner/two')).status, 200);
  assert.equal((await started()).toSorted(), ['owner/one', 'owner/two'], 'it needs no place among those on demand');
  await until(async () => !(await started()).includes('owner/two'));
  assert.equal(await started(), ['owner/one']);
  await at.app.unregisterDeployment('owner/one');
});

OnDemand('take requests that come while they end', async () => {
  assert.is((await ask('owner/two')).status, 200);
  const args = {
    dialog: { messages: [{ role: 'user', content: 'Hi' }] },
    sampling_params: { ignore_eos: true, max_tokens: 60_000 },
  };
  const running = at.app.handle('owner/two').stream('chat_stream', args)[Symbol.asyncIterator]();
  await running.next(); // a call of the host does not keep it
  await until(async () => at.app.status().deployments['owner/two']?.status !== 'RUNNING');
  const answer = ask('owner/two');
  await running.return?.();
  assert.is((await answer).status, 200);
});

OnDemand('end when the deployment that calls them has ended', async () => {
  assert.is((await ask('owner/one')).status, 200);
  lines.length = 0;
  await at.app.registerDeployment('relay', RelayDeployment.options({ handles: { next: 'owner/one' } }), {
    deploy: true,
  });
  await until(async () => lines.some((line) => line.includes('unused model not removed')));
  assert.is((await ask('owner/one')).status, 200);
  await at.app.unregisterDeployment('relay');
  await until(async () => (await started()).length === 0);
});

OnDemand('obey settings that are applied while the host runs', async () => {
  const given = { models: allowed, ...limits, num_gpus: 0 };
  const apply = async (more: Partial<typeof given>): Promise<void> => {
    const body = { deployments: {}, openai: { aliases, on_demand: { ...given, ...more } } };
    const answer = await at.post('/api/configuration/apply', body, admin);
    assert.match(await answer.text(), /"state":"applied"/);
  };
  await until(async () => (await started()).length === 0);
  await apply({ keep_alive_s: 1000, max_models: 2 });
  assert.is((await ask('owner/one')).status, 200);
  const used = await ask('owner/two', { stream: true, max_tokens: null, ignore_eos: true });
  const reader = used.body!.getReader();
  await reader.read();
  assert.equal((await started()).toSorted(), ['owner/one', 'owner/two'], 'two have room');
  await apply({ keep_alive_s: 1000, max_models: 1 });
  await until(async () => (await started()).join() === 'owner/two');
  await apply({ keep_alive_s: 1000, max_models: 1, models: ['owner/one'] });
  assert.not.ok((await reader.read()).done, 'a model that is no longer allowed goes on while it is used');
  await reader.cancel();
  await until(async () => (await started()).length === 0);
  assert.is((await ask('owner/two')).status, 404);
  assert.is((await models())['owner/two'], undefined);
  assert.is((await ask('owner/one')).status, 200);
  await apply({ keep_alive_s: 0 });
  await until(async () => (await started()).length === 0);
  await apply({ max_bytes: 10 });
  const { error } = (await (await ask('owner/one/vast.gguf')).json()) as { error: { message: string } };
  assert.match(error.message, /of 10 \(openai\.on_demand\.max_bytes\)/);
  await apply({ num_gpus: 1 }); // without a GPU it has no effect
  assert.is((await ask('owner/one')).status, 200);
  await apply({});
});

OnDemand('that are too many after a change end when they are not used any more', async () => {
  const apply = async (most: number, keepAliveS = 1000): Promise<void> => {
    const on_demand = { models: allowed, ...limits, keep_alive_s: keepAliveS, max_models: most };
    const answer = await at.post(
      '/api/configuration/apply',
      { deployments: {}, openai: { aliases, on_demand } },
      admin,
    );
    assert.match(await answer.text(), /"state":"applied"/);
  };
  await apply(2);
  const readers = [];
  for (const model of ['owner/two', 'owner/long']) {
    const used = await ask(model, { stream: true, max_tokens: null, ignore_eos: true });
    readers.push(used.body!.getReader());
    await readers.at(-1)!.read();
  }
  await apply(1);
  for (const reader of readers) assert.not.ok((await reader.read()).done);
  for (const reader of readers) await reader.cancel();
  await until(async () => (await started()).join() === 'owner/long');
  await apply(1, limits.keep_alive_s);
  await until(async () => (await started()).length === 0);
});

OnDemand('of a broken file are refused without the folder of the file', async () => {
  const garbage = Buffer.alloc(4096, 'a');
  hub.files.set('/api/models/owner/broken', Buffer.from(JSON.stringify({ siblings: [{ rfilename: 'b.gguf' }] })));
  hub.files.set('/owner/broken/resolve/main/b.gguf', garbage);
  const broken = await (await ask('owner/broken')).text();
  assert.match(broken, /model file b\.gguf is not a GGUF file/);
  assert.not.ok(broken.includes(folder), 'no client learns where the files are');
  await until(async () => (await started()).length === 0);
});

OnDemand('are refused in the words of the caller', async () => {
  const code = async (model: string, path = '/v1/chat/completions'): Promise<unknown[]> => {
    const answer = await at.post(path, { ...chat(model), input: 'a' }, key);
    return [answer.status, ((await answer.json()) as { error: { code: string } }).error.code];
  };
  for (const other of ['other/three', 'Owner/one', 'qwen-of/another'])
    assert.equal(await code(other), [404, 'model_not_found'], `${other} is not allowed`);
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
