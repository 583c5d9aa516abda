// Whole answers, made of the pieces of a stream.
import { drained } from '../../../base/core/async/async-values.ts';
import {
  type ChatMessage,
  type ChatOutputWithDetails,
  type ChoiceDetails,
  type GeneratedText,
  type GeneratedTexts,
  type GenerationDetails,
  type SamplingParams,
  type TextChunk,
  TokenScores,
} from '../../../base/schemas/index.ts';
import { ToolCallParts } from './tool-call-ids.ts';

/** The pieces of answers, and their details at the end where they are known. */
export type Chunks = AsyncIterable<TextChunk, GenerationDetails | undefined>;

export interface Wanted {
  /** Number of answers. */
  readonly count: number;
  readonly details: boolean;
  readonly logprobs: boolean;
  readonly promptLogprobs: boolean;
}

/** Returns which log-probabilities a request wants. They are told without being asked for as `details`. */
export function wantedScores(
  deployment: SamplingParams,
  request: SamplingParams | null | undefined,
): Pick<Wanted, 'logprobs' | 'promptLogprobs'> {
  return {
    logprobs: (request?.logprobs ?? deployment.logprobs) != null,
    promptLogprobs: request?.prompt_logprobs != null,
  };
}

class AnswerParts {
  text = '';
  #reasoning = '';
  readonly #calls = new ToolCallParts();
  readonly scores = new TokenScores();

  add(chunk: TextChunk): void {
    this.text += chunk.text;
    this.#reasoning += chunk.reasoning_content ?? '';
    if (chunk.tool_calls) this.#calls.add(chunk.tool_calls);
    this.scores.add(chunk);
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
  { count, details: areWanted, logprobs, promptLogprobs }: Wanted,
  toAnswer: (parts: AnswerParts) => Answer,
): Promise<Whole<Answer>> {
  const answers = Array.from({ length: count }, () => new AnswerParts());
  let unbound: TextChunk['unbound'];
  const all = await drained(chunks, (chunk) => {
    unbound ??= chunk.unbound;
    answers[chunk.index ?? 0]?.add(chunk);
  });
  const isTold = all !== undefined && (areWanted || logprobs || promptLogprobs || all.quotations !== undefined);
  const { choices, ...first } = all ?? {};
  const withScores = <Of extends object>(details: Of, parts: AnswerParts | undefined): Of => {
    const told = { ...details, ...(logprobs && { logprobs: [] }) };
    return parts ? parts.scores.addTo(told) : told;
  };
  return {
    first: toAnswer(answers[0] ?? new AnswerParts()),
    ...(isTold && {
      details: withScores({ ...(first as GenerationDetails), ...(unbound && { unbound }) }, answers[0]),
    }),
    ...(count > 1 && {
      choices: answers.map((parts, at) => {
        const details = choices?.[at];
        return { ...toAnswer(parts), ...(isTold && details && { details: withScores(details, parts) }) };
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
