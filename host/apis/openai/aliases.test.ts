// Aliases of several deployments over real sockets. One of the deployments is another application.
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OpenAITextGenerationDeployment } from 'aana-host';
import { llamaOptions, type OpenAiApp, registerEndless, startOpenAiApp } from './fixtures/openai-app.ts';

const Aliases = suite('aliases of several deployments');
const HEADER = 'x-aana-deployment';
let upstream: OpenAiApp;
let at: OpenAiApp;

const remote = (model: string) =>
  OpenAITextGenerationDeployment.options({
    user_config: { base_url: `${upstream.url}/v1`, model, max_retries: 0 },
  });
const one = (name: string) => [{ name }];

Aliases.before(async () => {
  upstream = await startOpenAiApp({ prepare: registerEndless });
  at = await startOpenAiApp({
    config: {
      api_service: { enabled: true },
      openai: {
        aliases: {
          both: { deployments: [...one('tiny'), ...one('other')] },
          safe: { deployments: one('remote'), fallbacks: ['gone', 'tiny'] },
          alone: { deployments: one('remote') },
          patient: { deployments: one('remote-endless'), fallbacks: ['tiny'], fallback_after_s: 60 },
          hurried: { deployments: one('endless'), fallbacks: ['tiny'], fallback_after_s: 0.5 },
        },
      },
    },
    prepare: (app, tiny) => {
      app.registerDeployment('other', llamaOptions(tiny));
      app.registerDeployment('remote', remote('tiny'));
      app.registerDeployment('remote-endless', remote('endless'));
      registerEndless(app, tiny);
    },
  });
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann' });
  key = { authorization: `Bearer ${apiKey}` };
});
Aliases.after(async () => {
  await at?.[Symbol.asyncDispose]();
  await upstream?.[Symbol.asyncDispose]();
});

let key: Readonly<Record<string, string>> = {};
const ask = (path: string, body: object, headers = key): Promise<Response> => at.post(path, body, headers);
const dialog = (...texts: string[]): object[] =>
  texts.map((content, n) => ({ role: n % 2 === 0 ? 'user' : 'assistant', content }));
const chat = (model: string, more: object = {}) => ({ model, messages: dialog('Hi'), max_tokens: 2, ...more });

/** Requests of each route that a language model answers. */
const REQUESTS: Readonly<Record<string, (model: string) => readonly [path: string, body: object]>> = {
  chat: (model) => ['/v1/chat/completions', chat(model)],
  'a streamed chat': (model) => ['/v1/chat/completions', chat(model, { stream: true })],
  'the original chat': (model) => ['/chat/completions', chat(model)],
  'the original streamed chat': (model) => ['/chat/completions', chat(model, { stream: true })],
  completions: (model) => ['/v1/completions', { model, prompt: 'Hi', max_tokens: 2 }],
  'streamed completions': (model) => ['/v1/completions', { model, prompt: ['Hi', 'Ho'], max_tokens: 2, stream: true }],
  responses: (model) => ['/v1/responses', { model, input: 'Hi', max_output_tokens: 16 }],
  'streamed responses': (model) => ['/v1/responses', { model, input: 'Hi', max_output_tokens: 16, stream: true }],
  messages: (model) => ['/v1/messages', chat(model)],
  'streamed messages': (model) => ['/v1/messages', chat(model, { stream: true })],
};

Aliases('keep a conversation with its deployment, also when it becomes longer', async () => {
  const used = new Set<string | null>();
  for (let n = 0; n < 12; n += 1) {
    const first = `Question ${n}`;
    const answers = [
      await ask('/v1/chat/completions', chat('both', { messages: dialog(first) })),
      await ask('/v1/chat/completions', chat('both', { messages: dialog(first, 'Yes', 'Why?') })),
    ];
    const names = answers.map(({ headers }) => headers.get(HEADER));
    assert.is(names[0], names[1]);
    assert.equal(await Promise.all(answers.map(async (answer) => ((await answer.json()) as { model: string }).model)), [
      'both',
      'both',
    ]);
    used.add(names[0]!);
  }
  assert.equal([...used].toSorted(), ['other', 'tiny']);
  const client = new OpenAI({ baseURL: `${at.url}/v1`, apiKey: key['authorization']!.slice('Bearer '.length) });
  let previous: string | null = null;
  const names = new Set<string | null>();
  for (const input of ['One', 'Two', 'Three', 'Four']) {
    const request: OpenAI.Responses.ResponseCreateParamsNonStreaming = {
      ...{ model: 'both', input, previous_response_id: previous, max_output_tokens: 16 },
    };
    const { data, response } = await client.responses.create(request).withResponse();
    previous = data.id;
    names.add(response.headers.get(HEADER));
  }
  assert.is(names.size, 1);
});

Aliases('are listed with what their deployments can do', async () => {
  const { data } = (await (await fetch(`${at.url}/v1/models`, { headers: key })).json()) as {
    data: { id: string; deployment: string; capabilities: string[] }[];
  };
  const safe = data.find(({ id }) => id === 'safe')!;
  assert.is(safe.deployment, 'remote');
  assert.ok(safe.capabilities.includes('chat'));
});

Aliases('pass errors of the caller on without a fallback', async () => {
  const answer = await ask('/v1/chat/completions', chat('safe', { guided_json: { type: 'no such type' } }));
  assert.equal([answer.status, answer.headers.get(HEADER)], [400, 'remote']);
});

Aliases('go to a fallback when a deployment does not begin in time', async () => {
  const running = await ask('/v1/chat/completions', chat('endless', { stream: true, max_tokens: null }));
  const reader = running.body!.getReader();
  await reader.read(); // the only place of the model is taken
  for (const [name, request] of Object.entries(REQUESTS)) {
    const answer = await ask(...request('hurried'));
    const text = await answer.text();
    assert.equal([answer.status, answer.headers.get(HEADER)], [200, 'tiny'], `${name}: ${text}`);
    assert.is(text.match(/event: message_start\n/g)?.length, name === 'streamed messages' ? 1 : undefined);
  }
  await reader.cancel();
});

Aliases('do not go on with a fallback after the first token', async () => {
  const answer = await ask('/v1/chat/completions', chat('patient', { stream: true, max_tokens: null }));
  const texts = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await texts.read()).value!;
  await upstream.app.shutdown({ graceMs: 0 });
  for (let next = await texts.read(); !next.done; next = await texts.read()) text += next.value;
  assert.is(answer.headers.get(HEADER), 'remote-endless');
  assert.match(text.split('\n\n').at(-2)!, /^data: \{"error":/);
  assert.not.match(text, /\[DONE\]/);
});

for (const [name, request] of Object.entries(REQUESTS))
  Aliases(`go to the fallback that exists when a server is away: ${name}`, async () => {
    const answer = await ask(...request('safe'));
    const text = await answer.text();
    assert.equal([answer.status, answer.headers.get(HEADER)], [200, 'tiny'], text);
    assert.not.match(text, /"error":[^n]/);
    const alone = await ask(...request('alone'));
    assert.is(alone.headers.get(HEADER), 'remote');
    assert.match(await alone.text(), /gave no answer|is not available/);
  });

Aliases('use no deployment that the API key does not allow', async () => {
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'bob', scopes: ['model:remote'] });
  const answer = await ask('/v1/chat/completions', chat('safe'), { authorization: `Bearer ${apiKey}` });
  assert.equal([answer.status, answer.headers.get(HEADER)], [503, 'remote'], await answer.text());
});

Aliases('count their fallbacks by deployment and cause', async () => {
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'root', is_admin: true });
  const metrics = await (await fetch(`${at.url}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } })).text();
  const lines = metrics.split('\n').filter((line) => line.startsWith('aana_model_fallbacks_total{'));
  assert.ok(lines.some((line) => line.includes('aana_model="safe"') && line.includes('aana_deployment="remote"')));
  assert.ok(lines.some((line) => line.includes('aana_model="hurried"')));
  assert.not.ok(lines.some((line) => line.includes('aana_model="patient"')));
});

Aliases.run();
