import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  type ContentBlock,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaError } from '../../base/core/errors.ts';
import { ChatDialogInput } from '../../base/schemas/index.ts';
import { Random } from '../../test/simulation/random.ts';
import { dialogOf } from './messages.ts';

const Messages = suite("LangChain's messages as a dialog");

const random = new Random(11).next;
const one = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
const some = <T>(make: () => T): T[] => Array.from({ length: Math.floor(random() * 4) }, make);
const text = (): string => one(['', 'yes', 'a b', '日本語', '\n', '{"a": 1}']);

/** A content whose text is known. */
function content(others: readonly Record<string, unknown>[] = []): { content: string | ContentBlock[]; text: string } {
  if (random() < 0.4) {
    const said = text();
    return { content: said, text: said };
  }
  const blocks = some(() => (others.length > 0 && random() < 0.5 ? one(others) : { type: 'text', text: text() }));
  const texts = blocks.flatMap((block) => (block.type === 'text' ? [(block as { text: string }).text] : []));
  return { content: blocks as ContentBlock[], text: texts.join('\n') };
}

const calls = () => some(() => ({ id: one(['c1', undefined]), name: one(['find', 'a-b_c']), args: { n: random() } }));

const known: Record<string, () => { message: BaseMessage; role: string; text: string }> = {
  user: () => {
    const { content: said, text: meant } = content();
    const named = { content: said, name: one(['Ada', undefined]) } as { content: string };
    return { message: new HumanMessage(named), role: 'user', text: meant };
  },
  system: () => {
    const { content: said, text: meant } = content();
    return { message: new SystemMessage({ content: said }), role: 'system', text: meant };
  },
  assistant: () => {
    const { content: said, text: meant } = content([
      { type: 'tool_use', id: 'c1', name: 'find', input: {} },
      { type: 'tool_call', id: 'c1', name: 'find', args: {} },
      { type: 'invalid_tool_call', id: 'c1', name: 'find', args: '{' },
      { type: 'reasoning', reasoning: 'well' },
      { type: 'thinking', thinking: 'well', signature: 's' },
    ]);
    const fields = { content: said, tool_calls: calls(), additional_kwargs: { reasoning_content: text() } };
    return { message: new AIMessage(fields as { content: string }), role: 'assistant', text: meant };
  },
  tool: () => {
    const { content: said, text: meant } = content();
    const fields = { content: said, tool_call_id: one(['c1', '']), name: one(['find', undefined]) };
    return { message: new ToolMessage(fields as { content: string; tool_call_id: string }), role: 'tool', text: meant };
  },
  generic: () => {
    const [given, role] = one([
      ['user', 'user'],
      ['human', 'user'],
      ['assistant', 'assistant'],
      ['ai', 'assistant'],
      ['system', 'system'],
      ['developer', 'system'],
    ]);
    const said = text();
    return { message: new ChatMessage(said, given!), role: role!, text: said };
  },
};

Messages('keep roles, texts, names, reasoning and calls in each form', () => {
  for (let round = 0; round < 500; round += 1) {
    const made = [known['user']!(), ...some(() => one(Object.values(known))())];
    const { messages } = ChatDialogInput.parse(dialogOf(made.map(({ message }) => message)));
    for (const [n, { message, role, text: meant }] of made.entries()) {
      const got = messages[n]!;
      assert.equal([got.role, got.content, got.name], [role, meant, message.name]);
      if (!AIMessage.isInstance(message)) continue;
      assert.is(got.reasoning_content, message.additional_kwargs['reasoning_content']);
      const named = (got.tool_calls ?? []).map(({ function: { name, arguments: args } }) => [name, JSON.parse(args)]);
      assert.equal(
        named,
        (message.tool_calls ?? []).map(({ name, args }) => [name, args]),
      );
      assert.is(new Set(got.tool_calls?.map(({ id }) => id)).has(''), false);
    }
  }
});

Messages('a frame of a video keeps its time', () => {
  const image = { pixels: { id: 'a', bytes: 3, sha256: 'a' }, width: 1, height: 1 };
  const content = [
    { type: 'image', image, time: 1.5 },
    { type: 'image', image },
  ];
  assert.equal(dialogOf([new HumanMessage({ content: content as never })]).messages[0]!.content, content);
});

Messages('what no model takes is named', () => {
  const refused = (message: BaseMessage, expected: RegExp): void => {
    try {
      dialogOf([new HumanMessage('Hi'), message]);
    } catch (error) {
      assert.is((error as AanaError).name, 'ValidationError');
      assert.match((error as AanaError).message, expected);
      return;
    }
    assert.unreachable(String(expected));
  };
  for (const type of ['image_url', 'image', 'audio', 'file', 'video', 'text-plain', 'server_tool_call', 'x'])
    refused(
      new HumanMessage({ content: [{ type: 'text', text: 'a' }, { type }] as ContentBlock[] }),
      new RegExp(String.raw`^messages\[1\]\.content\[1\]: the model cannot open "${type}"`),
    );
  refused(new ChatMessage('Hi', 'robot'), /^messages\[1\]: there is no role "robot"$/);
  refused(new RemoveMessage({ id: 'a' }), /^messages\[1\]: there is no role "remove"$/);
  for (const given of [undefined, null, 5, {}])
    assert.throws(() =>
      ChatDialogInput.parse(dialogOf([new HumanMessage({ content: [{ type: 'text', text: given }] as never })])),
    );
});

Messages.run();
