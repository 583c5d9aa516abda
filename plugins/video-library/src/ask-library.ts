import { type Context, type ContextOf, defineEndpoint, type DialogInput, SamplingParams, z } from 'aana-host/plugin';
import { Library, Passage, Question } from './library.ts';

/** Tokens of the context that are left for the answer unless the request says more. */
const ANSWER_TOKENS = 256;

const Input = z.extend(Question, {
  limit: z._default(z.int().check(z.minimum(1), z.maximum(20), z.describe('Most passages that the model reads.')), 5),
  sampling_params: z.optional(z.nullable(SamplingParams)),
});
const sources = z
  .array(Passage)
  .check(z.describe('What the model read, the best first. The answer names their numbers.'));
const NOTHING = 'The library has nothing about this question.';

/** Answers a question with what is said in the videos. */
export const askLibrary = defineEndpoint({
  name: 'library_ask',
  path: '/library/ask',
  summary: 'Ask a question about the videos',
  description: 'A language model answers with what is said in the passages that fit the question best.',
  input: Input,
  output: z.strictObject({ answer: z.string(), sources }),
  uses: ['storage', 'vectors'],
  async run(input, ctx) {
    const { dialog, read } = await prepared(input, ctx);
    if (!dialog) return { answer: NOTHING, sources: [] };
    const { message } = await ctx.llm.chat(dialog, { sampling_params: input.sampling_params });
    return { answer: message.content ?? '', sources: read };
  },
});

/** Answers as `/library/ask` does, in pieces. */
export const askLibraryStream = defineEndpoint({
  name: 'library_ask_stream',
  path: '/library/ask_stream',
  summary: 'Ask a question about the videos, with the answer as a stream',
  description: 'The first value has the sources, and each further one a piece of the answer.',
  input: Input,
  output: z.strictObject({ sources: z.optional(sources), text: z.optional(z.string()) }),
  stream: true,
  uses: ['storage', 'vectors'],
  async *run(input, ctx) {
    const { dialog, read } = await prepared(input, ctx);
    yield { sources: read };
    if (!dialog) yield { text: NOTHING };
    else
      for await (const { text, index = 0 } of ctx.llm.chatStream(dialog, { sampling_params: input.sampling_params }))
        if (index === 0) yield { text };
  },
});

interface Prepared {
  /** Undefined if nothing was found. */
  readonly dialog: DialogInput | undefined;
  /** What the model reads. */
  readonly read: Passage[];
}

/** Finds passages and makes the dialog with as many of the best as the model's context has room for. */
async function prepared(
  { limit, sampling_params: sampling, ...question }: z.infer<typeof Input>,
  ctx: ContextOf<Context, 'storage' | 'vectors', undefined>,
): Promise<Prepared> {
  const found = await new Library(ctx).search(question, limit);
  const answer = sampling?.max_tokens ?? ANSWER_TOKENS;
  for (let count = found.length; count > 0; count -= 1) {
    const read = found.slice(0, count).map(({ passage }) => passage);
    const dialog = dialogOf(question.question, read);
    const { tokens, max_tokens: room } = await ctx.llm.countTokens({ dialog });
    if (tokens + answer <= room || count === 1) return { dialog, read };
  }
  return { dialog: undefined, read: [] };
}

// The question stands after the passages. Before them, small models copy the passages.
const dialogOf = (question: string, passages: readonly Passage[]): DialogInput => ({
  messages: [
    {
      role: 'system',
      content:
        'You answer questions about videos with what is said in the numbered passages, and name the numbers of the ' +
        'passages that you use, such as [1]. If they do not answer the question, you say so.',
    },
    { role: 'user', content: `${passages.map(numbered).join('\n\n')}\n\nQuestion: ${question}` },
  ],
});

const numbered = ({ title, video, start, text }: Passage, n: number): string =>
  `[${n + 1}] ${title ?? video}, at ${Math.floor(start)} s:\n${text}`;
