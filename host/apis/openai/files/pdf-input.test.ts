// PDFs in dialogs, with the official clients over a real model, a real reader and SQLite.
import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import OpenAI, { APIError, APIUserAbortError, toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { encryptedPdf, scannedPdf, slowPdf, textBomb, textPdf } from '../../../io/documents/fixtures/pdfs.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { skip } from '../../../test/skip.ts';
import { type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

const Pdfs = suite('PDFs in dialogs');
const MAX_JSON_BYTES = 400_000;
const model = 'tiny';
const PDF = textPdf('Ada lives\nin a town', 'of two pages');
const TEXT = 'Ada lives\nin a town\n\nof two pages';
let at: OpenAiApp;
let ann: OpenAI;
let anthropic: Anthropic;
let id = '';

Pdfs.before(async () => {
  at = await startOpenAiApp({ config: { api_service: { enabled: true }, limits: { max_json_bytes: MAX_JSON_BYTES } } });
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann' });
  ann = new OpenAI({ baseURL: `${at.url}/v1`, apiKey, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: at.url, apiKey, maxRetries: 0 });
  id = (await ann.files.create({ file: await toFile(PDF, 'a.pdf'), purpose: 'user_data' })).id;
});
Pdfs.after(async () => at?.[Symbol.asyncDispose]());

const dataUrl = (bytes: Buffer): string => `data:application/pdf;base64,${bytes.toString('base64')}`;

const chat = (part: OpenAI.Chat.ChatCompletionContentPart) =>
  ann.chat.completions.create({ model, max_tokens: 1, messages: [{ role: 'user', content: [part] }] });
const respond = (file: Omit<OpenAI.Responses.ResponseInputFile, 'type'>, signal?: AbortSignal) => {
  const content: OpenAI.Responses.ResponseInputMessageContentList = [
    { type: 'input_text', text: 'Who?' },
    { type: 'input_file', ...file },
  ];
  return ann.responses.create({ model, max_output_tokens: 1, input: [{ role: 'user', content }] }, { signal });
};
const pdfSource = (bytes: Buffer): Anthropic.Base64PDFSource => ({
  ...{ type: 'base64', media_type: 'application/pdf' },
  data: bytes.toString('base64'),
});
const message = (source: Anthropic.DocumentBlockParam['source']) =>
  anthropic.messages.create({
    ...{ model, max_tokens: 1 },
    messages: [{ role: 'user', content: [{ type: 'document', source }] }],
  });

Pdfs('are texts of a chat', async () => {
  const wanted = (await chat({ type: 'text', text: TEXT })).usage?.prompt_tokens;
  for (const file of [{ file_id: id }, { filename: 'a.pdf', file_data: dataUrl(PDF) }])
    assert.is((await chat({ type: 'file', file })).usage?.prompt_tokens, wanted);
});

Pdfs('are texts of a response, which is stored with them', async () => {
  for (const file of [{ file_id: id }, { filename: 'a.pdf', file_data: dataUrl(PDF) }]) {
    const [item] = (await ann.responses.inputItems.list((await respond(file)).id)).data;
    assert.equal((item as { content: unknown }).content, [
      { type: 'input_text', text: 'Who?' },
      { type: 'input_text', text: TEXT },
    ]);
  }
});

Pdfs('are texts of a message, also in the result of a tool', async () => {
  const wanted = await message({ type: 'text', media_type: 'text/plain', data: TEXT });
  const given = await message(pdfSource(PDF));
  const tokens = ({ usage }: Anthropic.Message): number => usage.input_tokens + (usage.cache_read_input_tokens ?? 0);
  assert.is(tokens(given), tokens(wanted));
  const [inResult, asText] = await Promise.all(
    [pdfSource(PDF), { type: 'text' as const, media_type: 'text/plain' as const, data: TEXT }].map((source) =>
      anthropic.messages.countTokens({
        model,
        messages: [
          { role: 'user', content: 'Read' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'read', input: {} }] },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'document', source }] }],
          },
        ],
      }),
    ),
  );
  assert.equal(inResult, asText);
});

Pdfs('that are damaged, encrypted, scanned or too large are refused by their place', async () => {
  const cases: readonly (readonly [file: Buffer, why: RegExp])[] = [
    [PDF.subarray(0, 40), /is a PDF that is damaged/],
    [encryptedPdf(), /is a PDF that needs a password/],
    [scannedPdf(), /is a PDF that has no text/],
    [textPdf(...Array<string>(1001).fill('A page')), /is a PDF that has 1001 pages/],
    [textBomb(2 * MAX_JSON_BYTES), /is a PDF that has more than 400000 bytes of text/],
  ];
  const file_data = (bytes: Buffer) => ({ filename: 'b.pdf', file_data: dataUrl(bytes) });
  for (const [bytes, why] of cases) {
    const errors = [
      await errorOf(respond(file_data(bytes)), APIError),
      await errorOf(chat({ type: 'file', file: file_data(bytes) }), APIError),
    ];
    assert.equal(
      errors.map(({ status, param }) => [status, param]),
      [
        [400, 'input[0].content[1].file_data'],
        [400, 'messages[0].content[0].file.file_data'],
      ],
    );
    for (const error of errors) assert.match(error.message, why);
    const refused = await errorOf(message(pdfSource(bytes)), AnthropicError);
    assert.is(refused.status, 400);
    assert.match(refused.message, /'messages\[0\]\.content\[0\]\.source\.data': /);
    assert.match(refused.message, why);
  }
});

Pdfs('leave the server to others while they are read, and are read no further when the client leaves', async () => {
  const leaving = new AbortController();
  const reading = respond({ file_data: dataUrl(slowPdf()) }, leaving.signal);
  assert.is((await fetch(`${at.url}/livez`)).status, 200);
  leaving.abort();
  await errorOf(reading, APIUserAbortError);
  const next = await Promise.all(Array.from({ length: 2 }, () => respond({ file_data: dataUrl(PDF) })));
  assert.equal(
    next.map(({ object }) => object),
    ['response', 'response'],
  );
});

if (cannotRun !== undefined) skip('PDFs in dialogs', cannotRun);
else Pdfs.run();
