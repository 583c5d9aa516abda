import { randomInt } from 'node:crypto';
import type { LlamaCallDelta } from '../../../../native/lib/index.ts';
import type { ToolCall, ToolCallDelta } from '../../../base/schemas/index.ts';

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
/** The only length that the templates of Mistral take. */
const ID_LENGTH = 9;

/** Returns a new id for a call of a tool. */
export function newCallId(): string {
  return Array.from({ length: ID_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
}

/** Returns the piece of a call as clients see it. The first piece gets an id. */
export function toDelta({ index, name, arguments: args }: LlamaCallDelta): ToolCallDelta {
  if (name === undefined) return { index, function: { arguments: args } };
  return { index, id: newCallId(), type: 'function', function: { name, arguments: args } };
}

/** Puts the pieces of calls together. */
export class ToolCallParts {
  readonly #calls: { id: string; name: string; arguments: string }[] = [];

  add(deltas: readonly ToolCallDelta[]): void {
    for (const { index, id, function: piece } of deltas) {
      const call = (this.#calls[index] ??= { id: '', name: '', arguments: '' });
      call.id += id ?? '';
      call.name += piece.name ?? '';
      call.arguments += piece.arguments;
    }
  }

  get calls(): ToolCall[] {
    return this.#calls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    }));
  }
}
