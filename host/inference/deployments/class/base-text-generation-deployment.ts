import { drained, flatMapped } from '../../../base/core/async/async-values.ts';
import { boundedMap } from '../../../base/core/async/bounded-map.ts';
import { fail } from '../../../base/core/errors.ts';
import {
  type ChatDialog,
  type ChatOutputWithDetails,
  type GeneratedText,
  type GeneratedTexts,
  type GenerationDetails,
  hasScores,
  isTextDialog,
  type TextChunk,
  TokenScores,
} from '../../../base/schemas/index.ts';
import { structuredBy } from '../../../base/schemas/structured-outputs.ts';
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

  /**
   * Yields the continuation of the prompt, piece by piece. May return why the text ended and how many tokens it has.
   */
  abstract generate_stream(
    input: Args<'generate_stream'>,
    context: CallContext,
  ): AsyncIterable<TextChunk, GenerationDetails | undefined | void>;

  /** Returns the prompt for a dialog, up to the start of the answer. The default is ChatML, which many models know. */
  applyChatTemplate({ messages }: ChatDialog): string | Promise<string> {
    const turns = messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`);
    return `${turns.join('')}<|im_start|>assistant\n`;
  }

  async generate({ details: wanted, ...input }: Args<'generate'>, context: CallContext): Promise<GeneratedText> {
    requireOneAnswer(input);
    const { text, details } = await joined(this.generate_stream(input, context));
    return { text, ...(hasDetails(wanted, details) && { details }) };
  }

  /** Runs at most {@link BATCH_AT_ONCE} prompts at a time. When one fails, the others are cancelled. */
  async generate_batch({ prompts, ...rest }: Args<'generate_batch'>, context: CallContext): Promise<GeneratedTexts> {
    const outputs = await boundedMap(prompts, BATCH_AT_ONCE, context.signal, (prompt, signal) =>
      this.generate({ ...rest, prompt }, { ...context, signal }),
    );
    const details = outputs.flatMap((output) => output.details ?? []);
    const texts = outputs.map(({ text }) => text);
    const isTold = (rest.details || details.length > 0) && details.length === texts.length;
    return { texts, ...(isTold && { details }) };
  }

  async chat({ details: wanted, ...input }: Args<'chat'>, context: CallContext): Promise<ChatOutputWithDetails> {
    const { text, details } = await joined(this.chat_stream(input, context));
    return { message: { role: 'assistant', content: text }, ...(hasDetails(wanted, details) && { details }) };
  }

  async *chat_stream(
    {
      dialog,
      assistant_prefix: prefix,
      response_format: format,
      sampling_params: sampling,
      adapter,
      overflow,
      ...options
    }: Args<'chat_stream'>,
    context: CallContext,
  ): AsyncGenerator<TextChunk, GenerationDetails | undefined> {
    requireOneAnswer({ sampling_params: sampling });
    if (options.tools?.length && options.tool_choice !== 'none')
      throw fail('ValidationError', 'tools: this text model calls no tools');
    if (!isTextDialog(dialog)) throw fail('ImagesNotSupported', 'dialog: this text model takes no images and no audio');
    let begin = prefix ?? '';
    const prompt = (await this.applyChatTemplate(dialog)) + begin;
    // The class hears of a form in one place.
    const params = format ? { structured_outputs: structuredBy(format), ...sampling } : sampling;
    const input = {
      prompt,
      ...(params !== undefined && { sampling_params: params }),
      ...(adapter !== undefined && { adapter }),
      ...(overflow !== undefined && { overflow }),
    };
    const details = yield* flatMapped(this.generate_stream(input, context), (chunk) => {
      const piece = { ...chunk, text: begin + chunk.text };
      begin = '';
      return [piece];
    });
    if (begin !== '') yield { text: begin };
    return details ?? undefined;
  }
}

/** Throws for a request for several answers. A class that gives several has methods of its own. */
function requireOneAnswer({ sampling_params: sampling }: Pick<Args<'generate'>, 'sampling_params'>): void {
  if ((sampling?.n ?? 1) > 1) throw fail('ValidationError', 'sampling_params.n: this text model gives one answer');
}

async function joined(
  pieces: AsyncIterable<TextChunk, GenerationDetails | undefined | void>,
): Promise<{ readonly text: string; readonly details: GenerationDetails | undefined }> {
  let text = '';
  const scores = new TokenScores();
  const details = await drained(pieces, (piece) => {
    text += piece.text;
    scores.add(piece);
  });
  return { text, details: details ? scores.addTo(details) : undefined };
}

function hasDetails(wanted: boolean | undefined, details: GenerationDetails | undefined): details is GenerationDetails {
  return details !== undefined && (wanted === true || hasScores(details));
}
