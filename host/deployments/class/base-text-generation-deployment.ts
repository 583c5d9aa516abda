import { boundedMap } from '../../core/bounded-map.ts';
import type { ChatDialog, ChatOutput, TextChunk } from '../../schemas/index.ts';
import { type CallContext, Deployment } from './deployment.ts';
import type { Input } from './method.ts';
import { promptBeginning, textGenerationMethods } from './text-generation-methods.ts';

type Args<Name extends keyof typeof textGenerationMethods> = Input<
  { readonly methods: typeof textGenerationMethods },
  Name
>;

/** Prompts of a batch that a model works on at the same time. */
const BATCH_AT_ONCE = 64;

/**
 * Base class of custom text models. A class implements `generate_stream`, and usually `applyConfig`, and inherits all
 * other methods of text models.
 */
export abstract class BaseTextGenerationDeployment<Config = unknown> extends Deployment<Config> {
  static readonly methods: typeof textGenerationMethods = textGenerationMethods;
  static readonly affinity: typeof promptBeginning = promptBeginning;

  /** Yields the continuation of the prompt, piece by piece. */
  abstract generate_stream(input: Args<'generate_stream'>, context: CallContext): AsyncIterable<TextChunk>;

  /** Returns the prompt for a dialog, up to the start of the answer. The default is ChatML, which many models know. */
  applyChatTemplate({ messages }: ChatDialog): string | Promise<string> {
    return `${messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`).join('')}<|im_start|>assistant\n`;
  }

  async generate(input: Args<'generate'>, context: CallContext): Promise<TextChunk> {
    return { text: await joined(this.generate_stream(input, context)) };
  }

  /** Runs at most {@link BATCH_AT_ONCE} prompts at a time. When one fails, the others are cancelled. */
  async generate_batch(
    { prompts, ...rest }: Args<'generate_batch'>,
    context: CallContext,
  ): Promise<{ texts: string[] }> {
    const outputs = await boundedMap(prompts, BATCH_AT_ONCE, context.signal, (prompt, signal) =>
      this.generate({ ...rest, prompt }, { ...context, signal }),
    );
    return { texts: outputs.map(({ text }) => text) };
  }

  async chat(input: Args<'chat'>, context: CallContext): Promise<ChatOutput> {
    return { message: { role: 'assistant', content: await joined(this.chat_stream(input, context)) } };
  }

  async *chat_stream(
    { dialog, assistant_prefix: prefix, ...rest }: Args<'chat_stream'>,
    context: CallContext,
  ): AsyncGenerator<TextChunk> {
    let begin = prefix ?? '';
    const prompt = (await this.applyChatTemplate(dialog)) + begin;
    for await (const { text } of this.generate_stream({ ...rest, prompt }, context)) {
      yield { text: begin + text };
      begin = '';
    }
    if (begin !== '') yield { text: begin };
  }
}

async function joined(pieces: AsyncIterable<TextChunk>): Promise<string> {
  let all = '';
  for await (const { text } of pieces) all += text;
  return all;
}
