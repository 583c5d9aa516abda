import { boundedJson, type JsonBounds } from '../../../base/core/json/bounded-json.ts';
import type { SpanAttributes } from '../../../base/core/telemetry.ts';

/** Of all messages of a prompt, and of all answers. What is beyond them is cut. */
const BOUNDS: JsonBounds = { maxDepth: 16, maxElements: 2_000, maxChars: 32 * 1024 };

/** A part of a message in the form of OpenTelemetry's conventions for generative AI. */
type Part = Readonly<Record<string, unknown>> & { readonly type: string };

interface Call {
  readonly id?: string | undefined;
  readonly function: { readonly name?: string | undefined; readonly arguments: string };
}

interface Message {
  readonly role: string;
  readonly content?: string | null | readonly { readonly type: string; readonly text?: string }[];
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly Call[];
  readonly tool_call_id?: string;
}

interface Details {
  readonly finish_reason?: string | null;
  readonly choices?: readonly Details[];
}

interface Choice {
  readonly message?: Message;
  readonly text?: string;
  readonly details?: Details;
}

/** Results of the methods that generate texts. */
interface Result extends Choice {
  readonly choices?: readonly Choice[];
  readonly texts?: readonly string[];
}

/** Values of the streams that generate texts. */
interface Piece {
  readonly index?: number;
  readonly text?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly (Call & { readonly index: number })[];
}

/** Returns the prompt of a call as an attribute. Images and audio are named and not copied. */
export function promptContent(args: Readonly<Record<string, unknown>>): SpanAttributes {
  const { dialog, prompt, prompts } = args as {
    readonly dialog?: { readonly messages?: readonly Message[] };
    readonly prompt?: unknown;
    readonly prompts?: readonly unknown[];
  };
  const messages = dialog?.messages
    ? dialog.messages.map((message) => ({ role: message.role, parts: partsOf(message) }))
    : (prompts ?? (prompt === undefined ? [] : [prompt])).map((text) => ({ role: 'user', parts: [textPart(text)] }));
  return messages.length === 0 ? {} : { 'gen_ai.input.messages': boundedJson(messages, BOUNDS) };
}

/** Returns the answers in the result of a call as an attribute. */
export function answerContent(result: unknown): SpanAttributes {
  const { choices, texts, ...only } = (result ?? {}) as Result;
  const all = choices ?? texts?.map((text): Choice => ({ text })) ?? [only];
  return answersAttribute(
    all.map(({ message, text, details }) => ({
      parts: message ? partsOf(message) : text === undefined ? [] : [textPart(text)],
      finishReason: details?.finish_reason,
    })),
  );
}

/** Collects the answers of a stream, each up to a limit. */
export class StreamedContent {
  readonly #answers = new Map<number, { text: string; reasoning: string; readonly calls: Map<number, StreamedCall> }>();

  add(values: readonly unknown[]): void {
    for (const value of values) {
      const { index = 0, text = '', reasoning_content: reasoning = '', tool_calls: calls = [] } = value as Piece;
      const answer = this.#answers.get(index) ?? { text: '', reasoning: '', calls: new Map<number, StreamedCall>() };
      this.#answers.set(index, answer);
      answer.text = appended(answer.text, text);
      answer.reasoning = appended(answer.reasoning, reasoning);
      for (const { index: at, id, function: called } of calls) {
        const call = answer.calls.get(at) ?? { id, name: called.name, arguments: '' };
        answer.calls.set(at, { ...call, arguments: appended(call.arguments, called.arguments) });
      }
    }
  }

  /** Returns the answers as an attribute. `end` is what the stream returned. */
  attribute(end: unknown): SpanAttributes {
    const details = (end ?? {}) as Details;
    return answersAttribute(
      [...this.#answers].map(([index, { text, reasoning, calls }]) => ({
        parts: [
          ...(reasoning === '' ? [] : [{ type: 'reasoning', content: reasoning }]),
          ...(text === '' ? [] : [textPart(text)]),
          ...[...calls.values()].map((call): Part => ({ type: 'tool_call', ...call })),
        ],
        finishReason: (details.choices?.[index] ?? details).finish_reason,
      })),
    );
  }
}

interface StreamedCall {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly arguments: string;
}

const appended = (text: string, more: string): string =>
  text.length >= BOUNDS.maxChars ? text : (text + more).slice(0, BOUNDS.maxChars);

const textPart = (content: unknown): Part => ({ type: 'text', content });

function partsOf({
  role,
  content,
  reasoning_content: reasoning,
  tool_calls: calls,
  tool_call_id: id,
}: Message): Part[] {
  const parts = (typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []))
    .filter(({ text }) => text !== '')
    .map(({ type, text }) => (text === undefined ? { type } : textPart(text)));
  if (role === 'tool')
    return [{ type: 'tool_call_response', id, response: typeof content === 'string' ? content : parts }];
  return [
    ...(reasoning === undefined ? [] : [{ type: 'reasoning', content: reasoning }]),
    ...parts,
    ...(calls ?? []).map((call): Part => ({
      ...{ type: 'tool_call', id: call.id, name: call.function.name },
      arguments: call.function.arguments,
    })),
  ];
}

function answersAttribute(
  answers: readonly { readonly parts: readonly Part[]; readonly finishReason: string | null | undefined }[],
): SpanAttributes {
  const messages = answers.map(({ parts, finishReason }) => ({
    ...{ role: 'assistant', parts },
    ...(finishReason != null && { finish_reason: finishReason }),
  }));
  return messages.every(({ parts }) => parts.length === 0)
    ? {}
    : { 'gen_ai.output.messages': boundedJson(messages, BOUNDS) };
}
