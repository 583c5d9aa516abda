import type {
  ChatMessage,
  ChatOutputWithDetails,
  ChoiceDetails,
  GenerationDetails,
  ScoredToken,
  TextChunk,
  TokenLogprob,
} from '../../../../base/schemas/index.ts';
import type {
  AnswerToken,
  Choice,
  Completion,
  CompletionEnd,
  Ending,
  FinishReason,
  Outcome,
  Piece,
  Usage,
} from '../../../../../wit/generated/world/llm.ts';
import type { TokenScore } from '../../../../../wit/generated/world/types.ts';

/** The answers of `chat`, as a guest gets them. */
export function witCompletion({ message, choices, details }: ChatOutputWithDetails): Completion {
  const all = choices ?? [{ message, ...(details && { details }) }];
  return { choices: all.map((each) => choice(each.message, each.details)), outcome: witOutcome(details) };
}

/** The details that `chat_stream` returned after its last value. */
export function witEnd(details: GenerationDetails | undefined): CompletionEnd {
  return { endings: (details?.choices ?? [details]).map(ending), outcome: witOutcome(details) };
}

/** One value of `chat_stream`. */
export function witPiece(chunk: TextChunk): Piece {
  const { index, text, reasoning_content: reasoning, tool_calls: calls, logprobs } = chunk;
  return {
    choice: index ?? 0,
    text,
    reasoning: reasoning ?? '',
    toolCalls: (calls ?? []).map(({ index: place, id, function: { name, arguments: json } }) => ({
      index: place,
      id,
      name,
      arguments: json,
    })),
    logprobs: (logprobs ?? []).map(answerToken),
    promptScores: promptScores(chunk),
  };
}

export function witTokenScore({ token, id, logprob, bytes }: ScoredToken): TokenScore {
  return { token, id, logprob, bytes: Uint8Array.from(bytes) };
}

function choice(message: ChatMessage, details: ChoiceDetails | undefined): Choice {
  const { content, reasoning_content: reasoning, tool_calls: calls } = message;
  return {
    content,
    reasoning,
    toolCalls: (calls ?? []).map(({ id, function: { name, arguments: json } }) => ({ id, name, arguments: json })),
    logprobs: (details?.logprobs ?? []).map(answerToken),
    ending: ending(details),
  };
}

const answerToken = ({ top_logprobs: likeliest, ...token }: TokenLogprob): AnswerToken => ({
  token: witTokenScore(token),
  likeliest: likeliest.map(witTokenScore),
});

function ending(details: ChoiceDetails | undefined): Ending {
  return {
    finishReason: details && (details.finish_reason.replace('_', '-') as FinishReason),
    stopReason: details?.stop_reason,
    usage: details?.usage && usage(details.usage),
  };
}

function witOutcome(details: GenerationDetails | undefined): Outcome {
  const { timings, dropped } = details ?? {};
  return {
    usage: details && usage(details.usage),
    timings: timings && {
      queueMs: timings.queue_ms,
      promptMs: timings.prompt_ms,
      completionMs: timings.completion_ms,
    },
    dropped: dropped && { tokens: dropped.tokens, messages: dropped.messages },
    promptScores: details && promptScores(details),
  };
}

const usage = (of: GenerationDetails['usage']): Usage => ({
  promptTokens: of.prompt_tokens,
  cachedTokens: of.cached_tokens,
  completionTokens: of.completion_tokens,
  reasoningTokens: of.reasoning_tokens,
});

function promptScores(of: Pick<TextChunk, 'prompt_token_ids' | 'prompt_logprobs'>): string | undefined {
  const { prompt_token_ids: ids, prompt_logprobs: scores } = of;
  if (ids === undefined && scores === undefined) return undefined;
  return JSON.stringify({ prompt_token_ids: ids, prompt_logprobs: scores });
}
