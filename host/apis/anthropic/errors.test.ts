// Wrong requests of Anthropic's API, with the official client and on the wire.
import Anthropic, { APIError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { skip } from '../../test/skip.ts';
import { type OpenAiApp, startOpenAiApp } from '../openai/fixtures/openai-app.ts';

const Errors = suite('errors of Anthropic’s API');
const HELLO = { model: 'tiny', max_tokens: 2, messages: [{ role: 'user' as const, content: 'Once upon a time' }] };
let at: OpenAiApp;
let client: Anthropic;

Errors.before(async () => {
  at = await startOpenAiApp();
  client = new Anthropic({ baseURL: at.url, apiKey: 'none', maxRetries: 0 });
});
Errors.after(async () => at?.[Symbol.asyncDispose]());

/** Runs work that must fail, and returns the error of the client. */
async function failure(work: Promise<unknown>): Promise<InstanceType<typeof APIError>> {
  const result = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.instance(result, APIError);
  return result as InstanceType<typeof APIError>;
}

Errors('errors are the typed exceptions of the client', async () => {
  const unknown = await failure(client.messages.create({ ...HELLO, model: 'claude-opus' }));
  assert.instance(unknown, NotFoundError);
  assert.equal([unknown.status, unknown.type], [404, 'not_found_error']);
  assert.match(unknown.message, /"claude-opus\\?" does not exist: the models are tiny/);
  assert.is((unknown.error as { request_id: string }).request_id, unknown.requestID);

  const long = await failure(
    client.messages.create({ ...HELLO, messages: [{ role: 'user', content: 'dog '.repeat(4000) }] }),
  );
  assert.instance(long, BadRequestError);
  assert.is(long.type, 'invalid_request_error');
  assert.match(long.message, /"prompt is too long: \d+ tokens > 512 maximum"/);

  const route = await failure(client.get('/v1/messages/nothing'));
  assert.equal([route.status, route.type], [404, 'not_found_error']);
});

Errors('wrong parameters are refused with their names', async () => {
  const user = { role: 'user', content: 'x' };
  const call = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] };
  const image = { type: 'image', source: { type: 'url', url: 'http://127.0.0.1/a.png' } };
  const pdf = Buffer.from('%PDF-1.7').toString('base64');
  const document = (source: object) => ({ messages: [{ role: 'user', content: [{ type: 'document', source }] }] });
  const cases: [more: object, names: RegExp][] = [
    [{ max_tokens: undefined }, /'max_tokens': Field required/],
    [{ max_tokens: 0 }, /'max_tokens'/],
    [{ messages: [] }, /'messages'/],
    [{ messages: [{ role: 'wizard', content: 'x' }] }, /'messages\[0\]\.role'/],
    [{ messages: [{ role: 'user', content: [{ type: 'video' }] }] }, /'messages\[0\]\.content/],
    [
      { messages: [user, { role: 'user', content: [image] }] },
      /'messages\[1\]\.content\[0\]\.type': .* takes no images/,
    ],
    [
      {
        messages: [
          user,
          call,
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [image] }] },
        ],
      },
      /'messages\[2\]\.content\[0\]\.content\[0\]\.type'/,
    ],
    [
      document({ type: 'base64', media_type: 'application/pdf', data: pdf }),
      /'messages\[0\]\.content\[0\]\.source\.data': .* is a PDF/,
    ],
    [document({ type: 'base64', media_type: 'text/plain', data: '/w==' }), /source\.data': .* no text in UTF-8/],
    [document({ type: 'base64', media_type: 'text/plain', data: '&' }), /source\.data': it is not base64/],
    [document({ type: 'url', url: 'http://127.0.0.1/a.pdf' }), /source\.type': the server fetches no documents/],
    [document({ type: 'content', content: [image] }), /'messages\[0\]\.content\[0\]\.source\.content\[0\]\.type'/],
    [{ messages: [user, { role: 'user', content: call.content }] }, /'messages\[1\]\.content\[0\]\.type'/],
    [
      { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'b' }] }] },
      /'messages\[0\]\.content\[0\]\.tool_use_id'/,
    ],
    [{ messages: [user, call] }, /'messages': a message with the results must follow/],
    [{ messages: [{ role: 'assistant', content: 'x' }] }, /'messages': /],
    [{ stop_sequences: Array(10_000).fill('x') }, /'stop_sequences'/],
    [{ temperature: 9 }, /'temperature'/],
    [{ thinking: { type: 'enabled' } }, /'thinking\.budget_tokens'/],
    [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, /'tools\[0\]\.type': this server has no tools/],
    [{ tools: [{ name: 'a b', input_schema: { type: 'object' } }] }, /'tools\[0\]\.name'/],
    [{ tools: [{ name: 'f' }], tool_choice: { type: 'tool', name: 'other' } }, /'tool_choice': .*"other"/],
    [{ tool_choice: { type: 'any' } }, /'tool_choice': the request has no tools/],
    [{ model: undefined }, /'model': Field required/],
  ];
  for (const [more, names] of cases) {
    const response = await at.post('/v1/messages', { ...HELLO, ...more });
    const text = await response.text();
    assert.is(response.status, 400, `${JSON.stringify(more).slice(0, 100)}: ${text}`);
    const body = JSON.parse(text);
    assert.equal([body.type, body.error.type], ['error', 'invalid_request_error']);
    assert.match(body.error.message, names);
    assert.is(body.request_id, response.headers.get('request-id'));
  }
});

if (cannotRun !== undefined) skip('errors of Anthropic’s API', cannotRun);
else Errors.run();
