// Stored responses of users, over SQLite and PostgreSQL, with the official client.
import OpenAI, { APIError } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../../inference/engines/fixtures/cannot-run.ts';
import { postgresDatabases, sqliteDatabases, type TestDatabases } from '../../../../data/storage/fixtures/databases.ts';
import { skip } from '../../../../test/skip.ts';
import type { ConfigInput } from 'aana-host';
import { type OpenAiApp, startOpenAiApp } from '../../fixtures/openai-app.ts';

const TALE = { model: 'tiny', input: 'Once upon a time', max_output_tokens: 3, temperature: 0 } as const;

/** Runs work that must fail, and returns the status, the code and the parameter of its error. */
async function refusal(work: Promise<unknown>): Promise<unknown[]> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.instance(error, APIError, String(error));
  const { status, code, param } = error as InstanceType<typeof APIError>;
  return [status, code, param];
}

const NOT_FOUND = [404, 'response_not_found', 'response_id'];
const NO_PREVIOUS = [400, 'previous_response_not_found', 'previous_response_id'];

function storedTests(databases: TestDatabases): void {
  const Stored = suite(`stored responses over ${databases.title}`);
  Stored.after(() => databases.end());

  const start = async (config: ConfigInput = {}): Promise<OpenAiApp> =>
    startOpenAiApp({ config: { db_config: await databases.create(), ...config } });

  Stored('are not stored where the operator forbids it', async () => {
    await using at = await start({ openai: { responses: { store: false } } });
    const { responses } = at.client;
    const made = await responses.create(TALE);
    assert.is((made as { store?: unknown }).store, false);
    assert.equal(await refusal(responses.retrieve(made.id)), NOT_FOUND);
    assert.equal(await refusal(responses.create({ ...TALE, store: true })), [400, 'unsupported_parameter', 'store']);
    assert.is((await responses.create({ ...TALE, store: false })).status, 'incomplete');
  });

  Stored('are retrieved, listed and removed by their user only', async () => {
    await using at = await start({ api_service: { enabled: true } });
    const clientOf = async (user: string): Promise<OpenAI> => {
      const { apiKey } = await at.app.apiKeys!.create({ user_id: user });
      return new OpenAI({ baseURL: `${at.url}/v1`, apiKey, maxRetries: 0 });
    };
    const [ann, bob] = [await clientOf('ann'), await clientOf('bob')];
    const made = await ann.responses.create({ ...TALE, metadata: { a: 'b' } });
    assert.equal(await ann.responses.retrieve(made.id), made);
    const [message] = made.output;
    const reference = [{ type: 'item_reference' as const, id: message!.id! }];

    assert.equal(await refusal(bob.responses.retrieve(made.id)), NOT_FOUND);
    assert.equal(await refusal(bob.responses.inputItems.list(made.id)), NOT_FOUND);
    assert.equal(await refusal(bob.responses.delete(made.id)), NOT_FOUND);
    assert.equal(await refusal(bob.responses.create({ ...TALE, previous_response_id: made.id })), NO_PREVIOUS);
    assert.equal(await refusal(bob.responses.create({ ...TALE, input: reference })), [400, null, 'input[0].id']);

    for (const input of [reference, [{ id: message!.id! }]]) {
      const next = await ann.responses.create({ ...TALE, input });
      const { data } = await ann.responses.inputItems.list(next.id);
      assert.equal(data, [message]);
    }
    await ann.responses.delete(made.id);
    assert.equal(await refusal(ann.responses.retrieve(made.id)), NOT_FOUND);
    assert.equal(await refusal(ann.responses.delete(made.id)), NOT_FOUND);
  });

  Stored('continue each other as if the whole dialog was sent', async () => {
    await using at = await start();
    const { responses } = at.client;
    const first = await responses.create({ ...TALE, instructions: 'Tell a tale.' });
    const second = await responses.create({ ...TALE, input: 'and then', previous_response_id: first.id });
    const third = await responses.create({ ...TALE, input: 'the end', previous_response_id: second.id, stream: true });
    let streamed: OpenAI.Responses.Response | undefined;
    for await (const event of third) if (event.type === 'response.incomplete') ({ response: streamed } = event);
    const dialog = [
      { role: 'user', content: TALE.input },
      ...first.output,
      { role: 'user', content: 'and then' },
      ...second.output,
      { role: 'user', content: 'the end' },
    ] as OpenAI.Responses.ResponseInput;
    const whole = await responses.create({ ...TALE, input: dialog, store: false });
    assert.is(whole.usage!.input_tokens, streamed!.usage!.input_tokens);
    assert.is((await responses.retrieve(streamed!.id)).output_text, whole.output_text);
    assert.equal(await refusal(responses.retrieve(whole.id)), NOT_FOUND);

    await responses.delete(first.id);
    assert.equal(await refusal(responses.create({ ...TALE, previous_response_id: second.id })), NO_PREVIOUS);
  });

  Stored('keep their input, which is read in pages from both ends', async () => {
    await using at = await start();
    const { responses } = at.client;
    const input = Array.from({ length: 5 }, (_, n) => ({ role: 'user' as const, content: `${n}`, id: `item_${n}` }));
    const { id } = await responses.create({ ...TALE, input });
    const seen: string[] = [];
    for await (const item of responses.inputItems.list(id, { limit: 2, order: 'asc' })) seen.push(item.id!);
    assert.equal(seen, ['item_0', 'item_1', 'item_2', 'item_3', 'item_4']);
    const newest = await responses.inputItems.list(id, { limit: 2 });
    assert.equal(
      newest.data.map((item) => item.id),
      ['item_4', 'item_3'],
    );
    assert.is(newest.has_more, true);
    const last = await responses.inputItems.list(id, { after: 'item_1' });
    assert.equal([last.data.map((item) => item.id), last.has_more], [['item_0'], false]);
    assert.equal(await refusal(responses.inputItems.list(id, { after: 'nothing' })), [400, null, 'after']);
    assert.is((await refusal(responses.inputItems.list(id, { limit: 1000 })))[0], 400);
  });

  Stored('stay inside the limits of bytes', async () => {
    await using at = await start({
      limits: { max_json_bytes: 3000 },
      openai: { responses: { maximum_stored_bytes_per_user: 6000 } },
    });
    const { responses } = at.client;
    const long = { ...TALE, input: 'a '.repeat(100), metadata: { text: 'x'.repeat(500) } };
    const first = await responses.create(long);
    const second = await responses.create({ ...long, previous_response_id: first.id, truncation: 'auto' });
    assert.equal(await refusal(responses.create({ ...long, previous_response_id: second.id })), [
      413,
      'request_too_large',
      'previous_response_id',
    ]);
    for (let n = 0; n < 4; n += 1) await responses.create(long);
    assert.equal(await refusal(responses.retrieve(first.id)), NOT_FOUND);

    await using small = await start({ openai: { responses: { maximum_stored_bytes_per_user: 1000 } } });
    assert.equal((await refusal(small.client.responses.create(TALE))).slice(0, 2), [413, 'storage_full']);
    assert.ok(await small.client.responses.create({ ...TALE, store: false }));
  });

  Stored.run();
}

if (cannotRun !== undefined) skip('stored responses', cannotRun);
else {
  const postgres = await postgresDatabases();
  storedTests(sqliteDatabases());
  if (typeof postgres === 'string') skip('stored responses over PostgreSQL', postgres);
  else storedTests(postgres);
}
