// The list of models with the official clients of both APIs, over a real socket.
import Anthropic, { APIError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { skip } from '../../../test/skip.ts';
import { type OpenAiApp, startOpenAiApp } from '../../openai/fixtures/openai-app.ts';

const Models = suite('models of Anthropic’s API');
const IDS = ['tiny', 'one', 'two', 'three'];
let at: OpenAiApp;
let client: Anthropic;

Models.before(async () => {
  at = await startOpenAiApp({ config: { openai: { aliases: { one: 'tiny', two: 'tiny', three: 'tiny' } } } });
  client = new Anthropic({ baseURL: at.url, apiKey: 'none', maxRetries: 0 });
});
Models.after(async () => at?.[Symbol.asyncDispose]());

Models('a client gets the shape of its API', async () => {
  const model = await client.models.retrieve('tiny');
  assert.equal([model.type, model.id, model.display_name], ['model', 'tiny', 'tiny']);
  assert.ok(Date.parse(model.created_at) > 0);
  const page = await client.models.list();
  assert.equal([page.first_id, page.last_id, page.has_more], ['tiny', 'three', false]);
  assert.equal(page.data[0], model);
  const openai = await at.client.models.retrieve('tiny');
  assert.equal([openai.object, 'type' in openai], ['model', false]);
});

Models('the client reads all pages, in both directions', async () => {
  for (const limit of [1, 2, 3, 4, 20]) {
    const forwards: string[] = [];
    for await (const { id } of client.models.list({ limit })) forwards.push(id);
    assert.equal(forwards, IDS, String(limit));
  }
  const before = await client.models.list({ limit: 2, before_id: 'three' });
  assert.equal([before.data.map(({ id }) => id), before.has_more], [['one', 'two'], true]);
  const first = await client.models.list({ limit: 2, before_id: 'one' });
  assert.equal([first.data.map(({ id }) => id), first.has_more], [['tiny'], false]);
  const none = await client.models.list({ after_id: 'three' });
  assert.equal([none.data, none.first_id, none.last_id, none.has_more], [[], null, null, false]);
});

Models('errors have the form of the API of the client', async () => {
  const unknown = await errorOf(client.models.retrieve('claude'), APIError);
  assert.instance(unknown, NotFoundError);
  assert.is(unknown.type, 'not_found_error');
  assert.type(unknown.requestID, 'string');
  const place = await errorOf(client.models.list({ after_id: 'claude' }), APIError);
  assert.instance(place, BadRequestError);
  assert.match(place.message, /'after_id': no model has this id/);
  const limit = await errorOf(client.models.list({ limit: 0 }), APIError);
  assert.equal([limit.status, limit.type], [400, 'invalid_request_error']);
});

if (cannotRun !== undefined) skip('models of Anthropic’s API', cannotRun);
else Models.run();
