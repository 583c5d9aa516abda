// Whole answers, made of the pieces of a stream.
import { drained } from '../../core/async/async-values.ts';
import type {
  ChatMessage,
  ChatOutputWithDetails,
  ChoiceDetails,
  GeneratedText,
  GeneratedTexts,
  GenerationDetails,
  TextChunk,
  TokenLogprob,
} from '../../schemas/index.ts';
import { ToolCallParts } from './tool-call-ids.ts';

/** The pieces of answers, and their details at the end where they are known. */
export type Chunks = AsyncIterable<TextChunk, GenerationDetails | undefined>;

export interface Wanted {
  /** Number of answers. */
  readonly count: number;
  readonly details: boolean;
  readonly logprobs: boolean;
}

class AnswerParts {
  text = '';
  #reasoning = '';
  readonly #calls = new ToolCallParts();
  readonly logprobs: TokenLogprob[] = [];

  add({ text, reasoning_content: reasoning, tool_calls: calls, logprobs }: TextChunk): void {
    this.text += text;
    this.#reasoning += reasoning ?? '';
    if (calls) this.#calls.add(calls);
    if (logprobs) this.logprobs.push(...logprobs);
  }

  get message(): ChatMessage {
    const { calls } = this.#calls;
    return {
      role: 'assistant',
      content: this.text,
      ...(this.#reasoning !== '' && { reasoning_content: this.#reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
  }
}

interface Whole<Answer> {
  readonly first: Answer;
  readonly details?: GenerationDetails;
  readonly choices?: readonly (Answer & { details?: ChoiceDetails })[];
}

async function whole<Answer>(
  chunks: Chunks,
  { count, details: areWanted, logprobs }: Wanted,
  toAnswer: (parts: AnswerParts) => Answer,
): Promise<Whole<Answer>> {
  const answers = Array.from({ length: count }, () => new AnswerParts());
  const all = await drained(chunks, (chunk) => answers[chunk.index ?? 0]?.add(chunk));
  const isTold = all !== undefined && (areWanted || logprobs);
  const { choices, ...first } = all ?? {};
  const withLogprobs = <Of extends object>(details: Of, at: number): Of & { logprobs?: TokenLogprob[] } => ({
    ...details,
    ...(logprobs && { logprobs: answers[at]?.logprobs ?? [] }),
  });
  return {
    first: toAnswer(answers[0] ?? new AnswerParts()),
    ...(isTold && { details: withLogprobs(first as GenerationDetails, 0) }),
    ...(count > 1 && {
      choices: answers.map((parts, at) => {
        const details = choices?.[at];
        return { ...toAnswer(parts), ...(isTold && details && { details: withLogprobs(details, at) }) };
      }),
    }),
  };
}

/** Returns the result of `chat`. */
export async function wholeChat(chunks: Chunks, wanted: Wanted): Promise<ChatOutputWithDetails> {
  const { first, details, choices } = await whole(chunks, wanted, ({ message }) => ({ message }));
  return { ...first, ...(details && { details }), ...(choices && { choices: [...choices] }) };
}

/** Returns the result of `generate`. */
export async function wholeText(chunks: Chunks, wanted: Wanted): Promise<GeneratedText> {
  const { first, details, choices } = await whole(chunks, wanted, ({ text }) => ({ text }));
  return { ...first, ...(details && { details }), ...(choices && { choices: [...choices] }) };
}

/** Returns the result of `generate_batch` for the results of its prompts. */
export function wholeBatch(results: readonly GeneratedText[]): GeneratedTexts {
  const details = results.flatMap((result) => result.details ?? []);
  const choices = results.flatMap((result) => (result.choices ? [result.choices] : []));
  return {
    texts: results.map(({ text }) => text),
    ...(details.length > 0 && details.length === results.length && { details }),
    ...(choices.length > 0 && { choices }),
  };
}
