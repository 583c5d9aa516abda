// Dialogs that came from other servers, with what their own tools did, with the official clients over a real model.
import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import * as fc from 'fast-check';
import type OpenAI from 'openai';
import { APIError } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { THINKING_TEMPLATE } from '../../inference/engines/fixtures/thinking-template.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from './fixtures/openai-app.ts';

const Histories = suite('histories of other servers');
const IGNORED = 'x-aana-ignored-parameters';
let at: OpenAiApp;
let claude: Anthropic;

Histories.before(async () => {
  at = await startOpenAiApp({
    prepare: (app, tiny) => {
      const kwargs = { n_ctx: 512, n_threads: 1, chat_template: THINKING_TEMPLATE };
      app.registerDeployment('thinker', llamaOptions(tiny, { model_kwargs: kwargs }));
    },
  });
  claude = new Anthropic({ baseURL: at.url, apiKey: 'none', maxRetries: 0 });
});
Histories.after(async () => at?.[Symbol.asyncDispose]());

type Item = OpenAI.Responses.ResponseInputItem;

/** The types of items that the official client knows, and that are neither parts of the prompt nor refused. */
type HostedItemType = Exclude<
  NonNullable<Item['type']>,
  | 'message'
  | 'reasoning'
  | 'item_reference'
  | 'function_call'
  | 'function_call_output'
  | 'custom_tool_call'
  | 'custom_tool_call_output'
  | 'file_search_call'
  | 'compaction'
  | 'compaction_trigger'
  | 'additional_tools'
>;
/** What tools of OpenAI's servers leave in a dialog, with some of what is inside. */
const INSIDE_ITEMS: Readonly<Record<HostedItemType, object>> = {
  web_search_call: { id: 'ws_1', status: 'completed', action: { type: 'search', query: 'towns' } },
  code_interpreter_call: { id: 'ci_1', status: 'completed', code: '1', container_id: 'c', outputs: [] },
  image_generation_call: { id: 'ig_1', status: 'completed', result: 'AAAA' },
  computer_call: { id: 'cu_1', call_id: 'call_1', pending_safety_checks: [], status: 'completed' },
  computer_call_output: { call_id: 'call_1', output: { type: 'computer_screenshot', image_url: 'x' } },
  local_shell_call: { id: 'ls_1', call_id: 'call_2', action: {}, status: 'completed' },
  local_shell_call_output: { id: 'ls_2', output: '{}' },
  shell_call: { call_id: 'call_3', action: { commands: ['ls'] } },
  shell_call_output: { call_id: 'call_3', output: [] },
  apply_patch_call: { call_id: 'call_4', operation: {}, status: 'completed' },
  apply_patch_call_output: { call_id: 'call_4', status: 'completed' },
  mcp_list_tools: { id: 'mcpl_1', server_label: 'a', tools: [] },
  mcp_approval_request: { id: 'mcpr_1', arguments: '{}', name: 'a', server_label: 'a' },
  mcp_approval_response: { approval_request_id: 'mcpr_1', approve: true },
  mcp_call: { id: 'mcp_1', arguments: '{}', name: 'a', server_label: 'a' },
  tool_search_call: { arguments: {} },
  tool_search_output: { tools: [] },
  program: { id: 'prog_1', call_id: 'call_5', code: '1' },
  program_output: { id: 'prog_2', call_id: 'call_5', result: '1' },
};
const ITEMS = Object.entries(INSIDE_ITEMS).map(([type, inside]) => ({ type, ...inside })) as unknown as Item[];
const SPOKEN: Item[] = [
  { role: 'user', content: 'Which towns are there?' },
  { type: 'reasoning', id: 'rs_1', summary: [] },
  { role: 'assistant', content: 'Zürich.' },
  { role: 'user', content: 'Once' },
];

type Block = Anthropic.Beta.Messages.BetaContentBlockParam;
/** The types of blocks that the official client knows, and that are neither parts of the prompt nor refused. */
type HostedBlockType = Exclude<
  Block['type'],
  | 'text'
  | 'image'
  | 'document'
  | 'search_result'
  | 'thinking'
  | 'redacted_thinking'
  | 'tool_use'
  | 'tool_result'
  | 'compaction'
  | 'tool_addition'
  | 'tool_removal'
>;
/** What tools of Anthropic's servers leave in a message of the assistant, with some of what is inside. */
const INSIDE_BLOCKS: Readonly<Record<HostedBlockType, object>> = {
  server_tool_use: { id: 'srvtoolu_1', name: 'web_search', input: { query: 'towns' } },
  web_search_tool_result: { tool_use_id: 'srvtoolu_1', content: [{ type: 'web_search_result', url: 'x' }] },
  web_fetch_tool_result: { tool_use_id: 'srvtoolu_1', content: {} },
  code_execution_tool_result: { tool_use_id: 'srvtoolu_1', content: {} },
  bash_code_execution_tool_result: { tool_use_id: 'srvtoolu_1', content: {} },
  text_editor_code_execution_tool_result: { tool_use_id: 'srvtoolu_1', content: {} },
  tool_search_tool_result: { tool_use_id: 'srvtoolu_1', content: {} },
  advisor_tool_result: { tool_use_id: 'srvtoolu_1', content: {} },
  mcp_tool_use: { id: 'mcptoolu_1', name: 'a', server_name: 'a', input: {} },
  mcp_tool_result: { tool_use_id: 'mcptoolu_1', content: 'x' },
  mcp_tool_listing: { mcp_server_name: 'a', tools: [] },
  container_upload: { file_id: 'file_1' },
  fallback: { from: { model: 'a' }, to: { model: 'b' } },
};
const BLOCKS = Object.entries(INSIDE_BLOCKS).map(([type, inside]) => ({
  type,
  ...inside,
})) as unknown as Anthropic.ContentBlockParam[];
const TEXTS: Anthropic.ContentBlockParam[] = [
  { type: 'thinking', thinking: 'Towns.', signature: 'x' },
  { type: 'text', text: 'Zürich.' },
];

/** Some of `others`, each in front of one of `own` or behind the last, in any order. */
const mixed = <Part>(own: readonly Part[], others: readonly Part[]): fc.Arbitrary<Part[]> =>
  fc
    .array(fc.tuple(fc.constantFrom(...others), fc.nat(own.length)), { minLength: 1, maxLength: 6 })
    .map((placed) =>
      [...own, undefined].flatMap((part, n) => [
        ...placed.flatMap(([other, place]) => (place === n ? [other] : [])),
        ...(part === undefined ? [] : [part]),
      ]),
    );

const typeOf = (part: object): string => (part as { type?: string }).type ?? 'message';
const namesOf = (prefix: string, parts: readonly object[], others: readonly object[]): string =>
  [...new Set(parts.map(typeOf))]
    .filter((type) => others.some((other) => typeOf(other) === type))
    .map((type) => `${prefix}.${type}`)
    .join(', ');

const dialogWith = (content: Anthropic.ContentBlockParam[]): Anthropic.MessageParam[] => [
  { role: 'user', content: 'Which towns are there?' },
  { role: 'assistant', content },
  { role: 'user', content: 'Once' },
];

Histories('of OpenAI have the same prompt as without the items of hosted tools, which are named', async () => {
  const countOf = (input: Item[]) => at.client.responses.inputTokens.count({ model: 'tiny', input }).withResponse();
  const { data: wanted } = await countOf(SPOKEN);
  const check = async (input: Item[]): Promise<void> => {
    const { data, response } = await countOf(input);
    assert.equal(data, wanted);
    assert.is(response.headers.get(IGNORED), namesOf('input[]', input, ITEMS));
  };
  await check([...ITEMS, ...SPOKEN]);
  await fc.assert(fc.asyncProperty(mixed(SPOKEN, ITEMS), check), { numRuns: 20 });
  const answer = await at.client.responses.create({
    model: 'tiny',
    input: [...ITEMS, ...SPOKEN],
    max_output_tokens: 2,
  });
  const { data: kept } = await at.client.responses.inputItems.list(answer.id, { limit: 100 });
  assert.is(kept.length, SPOKEN.length);
});

Histories('of Anthropic have the same prompt as without the blocks of hosted tools, which are named', async () => {
  const countOf = (content: Anthropic.ContentBlockParam[]) =>
    claude.messages.countTokens({ model: 'tiny', messages: dialogWith(content) }).withResponse();
  const { data: wanted } = await countOf(TEXTS);
  const check = async (content: Anthropic.ContentBlockParam[]): Promise<void> => {
    const { data, response } = await countOf(content);
    assert.equal(data, wanted);
    assert.is(response.headers.get(IGNORED), namesOf('messages[].content[]', content, BLOCKS));
  };
  await check([...BLOCKS, ...TEXTS]);
  await fc.assert(fc.asyncProperty(mixed(TEXTS, BLOCKS), check), { numRuns: 20 });
  const messages = dialogWith(BLOCKS);
  assert.ok((await claude.messages.create({ model: 'tiny', max_tokens: 2, messages })).content.length > 0);
});

Histories('keep the places of their other parts in errors', async () => {
  const input = [ITEMS[0]!, { type: 'function_call_output', call_id: 'none', output: '' }, ...SPOKEN] as Item[];
  const error = await errorOf(at.client.responses.create({ model: 'tiny', input }), APIError);
  assert.is(error.param, 'input[1].call_id');
  const image: Item = { role: 'user', content: [{ type: 'input_image', image_url: 'x', detail: 'auto' }] };
  const images = [...ITEMS, ...SPOKEN, image];
  const refused = await errorOf(at.client.responses.create({ model: 'tiny', input: images }), APIError);
  assert.is(refused.param, `input[${images.length - 1}].content[0].type`);
  const twice = [ITEMS[0]!, { ...SPOKEN[1]! }, ITEMS[1]!, { ...SPOKEN[1]! }, SPOKEN[0]!];
  assert.is(
    (await errorOf(at.client.responses.create({ model: 'tiny', input: twice }), APIError)).param,
    'input[3].id',
  );
  const only = await errorOf(at.client.responses.create({ model: 'tiny', input: [ITEMS[0]!] }), APIError);
  assert.is(only.param, 'input');
});

Histories('with a compaction are refused, because only the server that made it can read it', async () => {
  for (const type of ['compaction', 'compaction_trigger']) {
    const input = [...SPOKEN, { type, id: 'cmp_1', encrypted_content: 'x' }] as Item[];
    const error = await errorOf(at.client.responses.create({ model: 'tiny', input }), APIError);
    assert.equal([error.status, error.param], [400, 'input[4].type']);
    assert.match(error.message, /send the dialog itself/);
  }
  const content = [{ type: 'compaction', content: null }, ...TEXTS] as Anthropic.ContentBlockParam[];
  const messages = dialogWith(content);
  const error = await errorOf(claude.messages.create({ model: 'tiny', max_tokens: 2, messages }), AnthropicError);
  assert.match(error.message, /'messages\[1\]\.content\[0\]\.type': .*send the dialog itself/);
});

Histories('are refused with `strict`', async () => {
  await using other = await startOpenAiApp({ config: { openai: { strict: true } } });
  for (const [path, body, place] of [
    ['/v1/responses', { model: 'tiny', input: [...SPOKEN, ITEMS[0]] }, 'input[4].type'],
    [
      '/v1/messages',
      { model: 'tiny', max_tokens: 2, messages: dialogWith([...TEXTS, BLOCKS[0]!]) },
      'messages[1].content[2].type',
    ],
  ] as const) {
    const response = await other.post(path, body);
    assert.is(response.status, 400);
    const text = await response.text();
    assert.ok(text.includes(`'${place}': only the server`), text);
  }
});

Histories('of chat completions may have reasoning among the parts of the assistant', async () => {
  const countOf = async (content: unknown, more: object = {}): Promise<unknown> => {
    const messages = [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content, ...more },
      { role: 'user', content: 'Once' },
    ];
    const response = await at.post('/v1/tokenize', { model: 'thinker', messages });
    assert.is(response.status, 200, JSON.stringify(content));
    return ((await response.json()) as { count: number }).count;
  };
  const text = { type: 'text', text: 'Zürich.' };
  const wanted = await countOf('Zürich.', { reasoning_content: 'Towns.' });
  assert.not.equal(wanted, await countOf('Zürich.'));
  for (const part of [
    { type: 'thinking', thinking: 'Towns.', signature: 'x' },
    { type: 'thinking', thinking: [{ type: 'text', text: 'Towns.' }] },
    { type: 'reasoning', text: 'Towns.' },
    { type: 'reasoning', reasoning: 'Towns.' },
  ])
    assert.is(await countOf([part, text]), wanted, JSON.stringify(part));
  assert.is(await countOf([{ type: 'redacted_thinking', data: 'x' }, text]), await countOf('Zürich.'));
  const messages = [{ role: 'user', content: [{ type: 'thinking', thinking: 'Towns.' }] }];
  const refused = await at.post('/v1/chat/completions', { model: 'tiny', messages });
  assert.is(refused.status, 400);
  assert.match(await refused.text(), /messages\[0\]\.content\[0\]\.type/);
});

if (cannotRun !== undefined) skip('histories of other servers', cannotRun);
else Histories.run();
