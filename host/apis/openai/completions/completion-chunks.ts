import * as z from 'zod';
import type { GenerationDetails, TextChunk } from '../../../base/schemas/index.ts';
import { FinishReason, Quotations, Usage } from '../text/answer-values.ts';
import { type AnswerHead, usageOf } from '../text/values.ts';
import { sumOfUsages } from './completion-answer.ts';
import type { CompletionPlan } from './completion-call.ts';
import { answerScores, CompletionLogprobs, LogprobLists, promptScores } from './completion-logprobs.ts';

/** One event of a streamed answer of `POST /v1/completions`. The text `[DONE]` follows the last one. */
export const CompletionChunk = z.object({
  id: z.string().describe('The same in all events of a stream.'),
  object: z.literal('text_completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.int(),
      text: z.string(),
      logprobs: CompletionLogprobs.nullable(),
      finish_reason: FinishReason.nullable(),
      quotations: Quotations,
    }),
  ),
  usage: Usage.nullable().optional().describe('Only with `stream_options.include_usage`; null but in the last event.'),
});
type Chunk = z.input<typeof CompletionChunk>;

/** Translates the values of `generate_stream` into the events of OpenAI's API, for the answers to one prompt. */
export class CompletionChunks {
  readonly #head: AnswerHead;
  readonly #plan: CompletionPlan;
  readonly #first: number;
  readonly #prompt: { readonly text: string; readonly firstToken: string };
  readonly #lists = new Map<number, LogprobLists>();
  readonly #begun = new Set<number>();
  /** The tokens of the prompt so far, with their scores. */
  readonly #promptIds: number[] = [];
  readonly #promptLogprobs: NonNullable<TextChunk['prompt_logprobs']> = [];

  /** `first` is the index of the first answer. */
  constructor(
    head: AnswerHead,
    plan: CompletionPlan,
    first: number,
    prompt: { readonly text: string; readonly firstToken: string },
  ) {
    this.#head = head;
    this.#plan = plan;
    this.#first = first;
    this.#prompt = prompt;
  }

  /** Returns the events of one value. */
  of({ index = 0, text, logprobs, prompt_token_ids: ids, prompt_logprobs: scores }: TextChunk): Chunk[] {
    if (ids) this.#promptIds.push(...ids);
    if (scores) this.#promptLogprobs.push(...scores);
    if (text === '' && !logprobs) return [];
    const begin = this.#begin(index);
    if (this.#plan.isPromptOnly) return begin;
    return [...begin, this.#chunk(index, text, this.#plan.logprobs ? answerScores(logprobs) : undefined)];
  }

  /** Returns the last events of the answers. */
  end(details: GenerationDetails | undefined): Chunk[] {
    return Array.from({ length: this.#plan.count }, (_, index) => {
      const known = details?.choices?.[index] ?? details;
      const end = this.#plan.isPromptOnly
        ? ({ finish_reason: 'length' } as const)
        : {
            finish_reason: known?.finish_reason ?? 'stop',
            ...(known?.quotations && { quotations: known.quotations }),
          };
      return [...this.#begin(index), this.#chunk(index, '', undefined, end)];
    }).flat();
  }

  /** Returns the first event of an answer that begins with its prompt; nothing if it was sent. */
  #begin(index: number): Chunk[] {
    if (!this.#plan.echo || this.#begun.has(index)) return [];
    this.#begun.add(index);
    const given = { prompt_token_ids: this.#promptIds, prompt_logprobs: this.#promptLogprobs };
    const scored = this.#plan.logprobs ? promptScores(given, this.#prompt.firstToken) : undefined;
    return [this.#chunk(index, this.#prompt.text, scored)];
  }

  #chunk(
    index: number,
    text: string,
    scored: Parameters<LogprobLists['of']>[0] | undefined,
    end: Pick<Chunk['choices'][number], 'finish_reason' | 'quotations'> = { finish_reason: null },
  ): Chunk {
    let lists = this.#lists.get(index);
    if (!lists) this.#lists.set(index, (lists = new LogprobLists()));
    const logprobs = scored ? lists.of(scored, text) : null;
    return {
      ...headOf(this.#head),
      choices: [Object.assign({ index: this.#first + index, text, logprobs }, end)],
      ...(this.#plan.includeUsage && { usage: null }),
    };
  }
}

/** Returns the event with the usage of all prompts. */
export function usageChunk(head: AnswerHead, plan: CompletionPlan, all: readonly GenerationDetails[]): Chunk {
  return { ...headOf(head), choices: [], usage: sumOfUsages(all.map(usageOf), plan.isPromptOnly) };
}

function headOf({ id, created, model }: AnswerHead): Pick<Chunk, 'id' | 'object' | 'created' | 'model'> {
  return { id, object: 'text_completion', created, model };
}
