import * as z from 'zod';
import { MAX_TEXT, MAX_NAME } from '../../../base/schemas/index.ts';
import type { ChatChoice, ToolCallDelta } from '../../../base/schemas/index.ts';
import { customArguments, customInput, CustomInput, type CustomNames } from './custom-calls.ts';

/** A call of a function in a history. Clients of other servers store arguments as an object, or leave them out. */
export const CalledFunction = z.object({
  name: z.string().max(MAX_NAME),
  arguments: z.preprocess(argumentsText, z.string().max(MAX_TEXT)),
});

/** Returns arguments as their JSON text. What is neither an object nor left out stays as it is. */
function argumentsText(given: unknown): unknown {
  if (given == null) return '';
  return typeof given === 'object' && !Array.isArray(given) ? JSON.stringify(given) : given;
}

const FunctionCall = z.object({
  id: z.string().max(MAX_NAME),
  type: z.literal('function'),
  function: CalledFunction,
});
const CustomCall = z.object({
  id: z.string().max(MAX_NAME),
  type: z.literal('custom'),
  custom: z.object({ name: z.string().max(MAX_NAME), input: z.string().max(MAX_TEXT) }),
});

/** A call of a function or of a custom tool. */
export const ToolCall = z.discriminatedUnion('type', [FunctionCall, CustomCall], 'must be function or custom');
export type ToolCall = z.output<typeof ToolCall>;

/** A piece of a call. */
export const CallDelta = z.object({
  index: z.int(),
  id: z.string().optional(),
  type: z.enum(['function', 'custom']).optional(),
  function: z.object({ name: z.string().optional(), arguments: z.string() }).optional(),
  custom: z.object({ name: z.string().optional(), input: z.string() }).optional(),
});
export type CallDelta = z.output<typeof CallDelta>;

type Call = NonNullable<ChatChoice['message']['tool_calls']>[number];

/** Returns a call as the model knows it: a call of a function, whose arguments are an object. */
export function functionCall(call: ToolCall): Call {
  const { id } = call;
  if (call.type === 'function') {
    const { name, arguments: text } = call.function;
    return { id, type: 'function', function: { name, arguments: objectText(text) } };
  }
  const { custom } = call;
  return { id, type: 'function', function: { name: custom.name, arguments: customArguments(custom.input) } };
}

/**
 * Returns the JSON text of an object for what a model wrote as the arguments of a call. Models leave out arguments, and
 * limits of tokens cut them. Templates need an object, so such a text becomes the one member `invalid_arguments`, in
 * which the model sees what it wrote.
 */
function objectText(text: string): string {
  if (text.trim() === '') return '{}';
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text;
  } catch {
    // it is no JSON
  }
  return JSON.stringify({ invalid_arguments: text });
}

/** Returns a call of the model, of a custom tool if its name is among `names`. */
export function toolCall(call: Call, names: CustomNames): ToolCall {
  const { id, function: called } = call;
  if (!names.has(called.name)) return call;
  return { id, type: 'custom', custom: { name: called.name, input: customInput(called.arguments) } };
}

/** Makes the pieces of the calls of one answer. */
export class CallDeltas {
  readonly #names: CustomNames;
  /** Inputs of custom tools, by the index of the call. */
  readonly #inputs = new Map<number, CustomInput>();

  constructor(names: CustomNames) {
    this.#names = names;
  }

  /** Returns the pieces. A piece of the model that adds nothing to the input of a custom tool is left out. */
  of(calls: readonly ToolCallDelta[]): CallDelta[] {
    return calls.flatMap((call): CallDelta[] => {
      const { index, id, function: called } = call;
      const begins = called.name !== undefined && this.#names.has(called.name);
      if (begins) this.#inputs.set(index, new CustomInput());
      const input = this.#inputs.get(index)?.read(called.arguments);
      if (input === undefined) return [call];
      if (begins) return [{ index, id, type: 'custom', custom: { name: called.name, input } }];
      return input === '' ? [] : [{ index, custom: { input } }];
    });
  }
}
