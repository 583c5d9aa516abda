// Stored files in dialogs, with the official client over a real model and SQLite.
import OpenAI, { APIError, toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { skip } from '../../../test/skip.ts';
import { type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

const Files = suite('stored files in dialogs');
const TEXT = '{"name": "Ada", "town": "Zürich"}';
const MAX_JSON_BYTES = 20_000;
const model = 'tiny';
let at: OpenAiApp;
let ann: OpenAI;
let id = '';

Files.before(async () => {
  at = await startOpenAiApp({ config: { api_service: { enabled: true }, limits: { max_json_bytes: MAX_JSON_BYTES } } });
  ann = await clientOf('ann');
  id = await stored(`\ufeff${TEXT}`, 'index.ts');
});
Files.after(async () => at?.[Symbol.asyncDispose]());

async function clientOf(user: string, ...scopes: string[]): Promise<OpenAI> {
  const { apiKey } = await at.app.apiKeys!.create({ user_id: user, ...(scopes.length > 0 && { scopes }) });
  return new OpenAI({ baseURL: `${at.url}/v1`, apiKey, maxRetries: 0 });
}

async function stored(content: string | Uint8Array, name = 'a.txt'): Promise<string> {
  const file = await toFile(Buffer.from(content as Uint8Array), name);
  return (await ann.files.create({ file, purpose: 'user_data' })).id;
}

type ChatPart = OpenAI.Chat.ChatCompletionContentPart;
const chat = (part: ChatPart, client = ann, stream = false) =>
  client.chat.completions.create({
    ...{ model, max_tokens: 1, stream },
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Where?' }, part] }],
  });
const chatFile = (file: OpenAI.Chat.ChatCompletionContentPart.File['file'], client = ann, stream = false) =>
  chat({ type: 'file', file }, client, stream);

type Input = OpenAI.Responses.ResponseInputMessageContentList;
const respond = (content: Input, client = ann) =>
  client.responses.create({ model, max_output_tokens: 1, input: [{ type: 'message', role: 'user', content }] });

Files('are texts of a chat', async () => {
  const answers = [await chatFile({ file_id: id }), await chat({ type: 'text', text: TEXT })];
  const [tokens, expected] = answers.map((answer) => (answer as OpenAI.ChatCompletion).usage?.prompt_tokens);
  assert.ok(expected! > 20);
  assert.is(tokens, expected);
});

const data = Buffer.from(`\ufeff${TEXT}`).toString('base64');

Files('in the request are texts of a chat', async () => {
  const wanted = (await chat({ type: 'text', text: TEXT })) as OpenAI.ChatCompletion;
  for (const file_data of [data, `data:application/json;base64,${data}`]) {
    const { usage } = (await chatFile({ file_data, filename: 'a.json' })) as OpenAI.ChatCompletion;
    assert.is(usage?.prompt_tokens, wanted.usage?.prompt_tokens);
  }
});

const IN_RESPONSES: readonly (() => OpenAI.Responses.ResponseInputFile)[] = [
  () => ({ type: 'input_file', file_id: id }),
  () => ({ type: 'input_file', filename: 'a.json', file_data: `data:application/json;base64,${data}` }),
];
for (const given of IN_RESPONSES)
  Files('are texts of a response, which is stored with them', async () => {
    const content: Input = [given()];
    const response = await respond(content);
    const [item] = (await ann.responses.inputItems.list(response.id)).data;
    assert.equal((item as { content: unknown }).content, [{ type: 'input_text', text: TEXT }]);
    const input = [{ type: 'message' as const, role: 'user' as const, content }];
    const { input_tokens: tokens } = await ann.responses.inputTokens.count({ model, input });
    assert.is(tokens, response.usage?.input_tokens);
  });

Files('that are no text, too large, of others or unknown are refused before a stream begins', async () => {
  const binary = await stored(Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff), 'a.json');
  const zeros = await stored(new Uint8Array(100));
  const pdf = await stored('%PDF-1.7\n1 0 obj', 'a.txt');
  const large = await stored('a'.repeat(MAX_JSON_BYTES + 1));
  const place = 'messages[0].content[1]';
  const cases: readonly (readonly [file: object, status: number, param: string | null, message: RegExp])[] = [
    [{ file_id: binary }, 400, `${place}.file.file_id`, /the file "a\.json" is no text in UTF-8/],
    [{ file_id: zeros }, 400, `${place}.file.file_id`, /no text/],
    [{ file_id: pdf }, 400, `${place}.file.file_id`, /is a PDF/],
    [{ file_id: large }, 413, null, /the files in the request are too large/],
    [{ file_id: 'file-none' }, 404, `${place}.file.file_id`, /No such File/],
    [{ file_id: '../../etc/passwd' }, 404, `${place}.file.file_id`, /No such File/],
    [{ file_id: 7 }, 400, `${place}.file.file_id`, /not a text/],
    [{ file_id: id, file_data: 'data:text/plain;base64,YQ==' }, 400, `${place}.file.file_data`, /not both/],
    [{ file_data: 'data:application/pdf;base64,JVBERi0xLjc=' }, 400, `${place}.file.file_data`, /is a PDF/],
    [
      { file_data: 'data:text/plain;base64,/w==', filename: 'b.txt' },
      400,
      `${place}.file.file_data`,
      /"b\.txt" is no text/,
    ],
    [{ file_data: '&' }, 400, `${place}.file.file_data`, /not the base64/],
    [{ file_data: 7 }, 400, `${place}.file.file_data`, /not the base64/],
    [{}, 400, `${place}.type`, /no content of the type file/],
  ];
  for (const [file, status, param, message] of cases)
    for (const stream of [false, true]) {
      const error = await errorOf(chatFile(file, ann, stream), APIError);
      assert.equal([error.status, error.param], [status, param], error.message);
      assert.match(error.message, message);
    }
  const bob = await clientOf('bob');
  const other = await errorOf(respond([{ type: 'input_file', file_id: id }], bob), APIError);
  assert.equal([other.status, other.code, other.param], [404, 'file_not_found', 'input[0].content[0].file_id']);
  const many: Input = Array.from({ length: 17 }, () => ({ type: 'input_file', file_id: id }));
  assert.is((await errorOf(respond(many), APIError)).param, 'input[0].content[16]');
});

Files('are for the user’s messages, and for keys that may read them', async () => {
  const content: Input = [{ type: 'input_file', file_id: id }];
  const input = [{ type: 'message' as const, role: 'system' as const, content }];
  const { status, param } = await errorOf(ann.responses.create({ model, input }), APIError);
  assert.equal([status, param], [400, 'input[0].content[0].type']);
  const limited = await clientOf('ann', '/v1/responses');
  const refused = await errorOf(respond(content, limited), APIError);
  assert.equal([refused.status, refused.code], [403, 'insufficient_permissions']);
  const allowed = await clientOf('ann', '/v1/responses', '/v1/files/*');
  assert.is((await respond(content, allowed)).object, 'response');
});

if (cannotRun !== undefined) skip('stored files in dialogs', cannotRun);
else Files.run();
