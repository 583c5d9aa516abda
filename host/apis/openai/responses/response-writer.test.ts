// What the official client makes of the events of answers that small models do not give.
import { ResponseStream } from 'openai/lib/responses/ResponseStream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../../../base/core/errors.ts';
import type { GenerationDetails, TextChunk } from '../../../base/schemas/index.ts';
import type { OutputItem } from './items.ts';
import { type ModelResponse, newResponse } from './response-answer.ts';
import { ResponseEvent } from './response-event.ts';
import { ResponseRequest } from './response-fields.ts';
import { ResponseWriter, wholeResponse } from './response-writer.ts';

const Writer = suite('events of a response');

const begun = (): ModelResponse => newResponse(ResponseRequest.parse({ model: 'm', input: 'a' }), true);
const detailsOf = (reason: GenerationDetails['finish_reason']): GenerationDetails => ({
  finish_reason: reason,
  usage: { prompt_tokens: 3, cached_tokens: 1, completion_tokens: 9, reasoning_tokens: 2 },
});
const call = (index: number, text: string, name?: string): TextChunk => ({
  text: '',
  tool_calls: [
    name === undefined
      ? { index, function: { arguments: text } }
      : { index, id: `call_${name}`, function: { name, arguments: text } },
  ],
});

/** Returns the response that the client accumulates. */
async function accumulated(events: readonly ResponseEvent[]): Promise<ModelResponse> {
  const lines = events.slice(0, -1).map((event) => `${JSON.stringify(event)}\n`);
  const stream = ResponseStream.fromReadableStream(new Blob(lines).stream());
  return (await stream.finalResponse()) as unknown as ModelResponse;
}

/** Returns what an item says, without its ids. */
function gist(item: OutputItem): unknown[] {
  if (item.type === 'function_call') return [item.name, item.call_id, item.arguments, item.status];
  if (item.type === 'custom_tool_call') return [item.name, item.call_id, item.input, item.status];
  if (item.type === 'file_search_call') return [item.type, item.queries, item.status];
  return [item.type, item.content.map((part) => ('text' in part ? part.text : '')).join(''), item.status];
}

const CHUNKS: readonly TextChunk[] = [
  { text: '', reasoning_content: 'Let me ' },
  { text: '', reasoning_content: 'see.' },
  { text: 'I ' },
  { text: 'call.' },
  call(0, '', 'one'),
  call(0, '{"a":'),
  call(0, '1}'),
  call(1, '{}', 'two'),
];
const ITEMS = [
  ['reasoning', 'Let me see.', 'completed'],
  ['message', 'I call.', 'completed'],
  ['one', 'call_one', '{"a":1}', 'completed'],
  ['two', 'call_two', '{}', 'completed'],
];

Writer('add up to the items of the last event, in the order of the answer', async () => {
  const writer = new ResponseWriter(begun());
  const events = [
    ...CHUNKS.flatMap((chunk) => writer.of(chunk)),
    ...writer.close(detailsOf('tool_calls')),
    ...writer.end(),
  ];
  for (const event of events) ResponseEvent.parse(event);
  assert.equal(
    events.map(({ sequence_number: number }) => number),
    events.map((_, index) => index),
  );
  assert.equal(writer.response.output.map(gist), ITEMS);
  assert.equal((await accumulated(events)).output.map(gist), ITEMS);
  assert.equal(
    [writer.response.status, writer.response.usage!.output_tokens_details],
    ['completed', { reasoning_tokens: 2 }],
  );
});

Writer('of a whole answer give the same items', () => {
  const { output } = wholeResponse(begun(), {
    message: {
      role: 'assistant',
      content: 'I call.',
      reasoning_content: 'Let me see.',
      tool_calls: [
        { id: 'call_one', type: 'function', function: { name: 'one', arguments: '{"a":1}' } },
        { id: 'call_two', type: 'function', function: { name: 'two', arguments: '{}' } },
      ],
    },
    details: detailsOf('tool_calls'),
  });
  assert.equal(output.map(gist), ITEMS);
});

Writer('have the inputs of custom tools', () => {
  const request = { model: 'm', input: 'a', tools: [{ type: 'custom', name: 'shell' }] };
  const writer = new ResponseWriter(newResponse(ResponseRequest.parse(request), true));
  const events = [
    ...[call(0, '', 'shell'), call(0, '{"input": "l'), call(0, 's"}'), call(1, '{}', 'other')].flatMap((chunk) =>
      writer.of(chunk),
    ),
    ...writer.close(detailsOf('tool_calls')),
  ];
  for (const event of events) ResponseEvent.parse(event);
  assert.equal(writer.response.output.map(gist), [
    ['shell', 'call_shell', 'ls', 'completed'],
    ['other', 'call_other', '{}', 'completed'],
  ]);
  assert.equal(
    events.flatMap((event) => (event.type === 'response.custom_tool_call_input.delta' ? [event.delta] : [])),
    ['l', 's'],
  );
  const done = events.find(({ type }) => type === 'response.custom_tool_call_input.done');
  assert.is(done?.type === 'response.custom_tool_call_input.done' && done.input, 'ls');
});

Writer('end with a failed response after an error, which has what was written', async () => {
  const writer = new ResponseWriter(begun());
  const events = [
    ...writer.of({ text: 'Half' }),
    ...writer.fail(new AanaError('DeploymentFull', 'unavailable', 'try later')),
  ];
  const { status, error, output } = writer.response;
  assert.equal([status, error], ['failed', { code: 'server_error', message: 'try later' }]);
  assert.equal(output.map(gist), [['message', 'Half', 'incomplete']]);
  assert.is(events.at(-1)!.type, 'response.failed');
});

Writer('of an empty answer have a message without a text', () => {
  const writer = new ResponseWriter(begun());
  const events = [...writer.close(detailsOf('stop')), ...writer.end()];
  assert.equal(events.map(({ type }) => type).slice(0, 3), [
    'response.created',
    'response.in_progress',
    'response.output_item.added',
  ]);
  assert.equal(writer.response.output.map(gist), [['message', '', 'completed']]);
});

Writer('end a search that the server has not made, when the answer fails or is cut', () => {
  const request = { model: 'm', input: 'a', tools: [{ type: 'file_search' as const, vector_store_ids: ['vs_1'] }] };
  const cut = { finish_reason: 'length' as const, usage: { prompt_tokens: 1, cached_tokens: 0, completion_tokens: 1 } };
  for (const end of [
    (writer: ResponseWriter) => writer.fail(new Error('no')),
    (writer: ResponseWriter) => writer.close(cut),
  ]) {
    const writer = new ResponseWriter(newResponse(ResponseRequest.parse(request), true));
    writer.of(call(0, '{"queries":["a"]}', 'file_search'));
    writer.of(call(1, '{"queries":["b', 'file_search'));
    const done = end(writer).filter(({ type }) => type === 'response.output_item.done');
    assert.is(done.length, 2);
    assert.equal(writer.response.output.map(gist), [
      ['file_search_call', ['a'], 'incomplete'],
      ['file_search_call', [], 'incomplete'],
    ]);
  }
});

Writer.run();
