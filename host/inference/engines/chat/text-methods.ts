import { boundedMap } from '../../../base/core/async/bounded-map.ts';
import type { GeneratedText, SamplingParams } from '../../../base/schemas/index.ts';
import type { CallContext } from '../../rpc/index.ts';
import { answerCount } from './choices.ts';
import type { ChatArgs, GenerateArgs, GenerateBatchArgs, WithDetails } from './text-arguments.ts';
import { type Chunks, type Wanted, wantedScores, wholeBatch, wholeChat, wholeText } from './whole-answers.ts';

/** A model of texts, which answers in pieces. */
export interface TextModel {
  /** The sampling of the deployment. */
  readonly defaults: SamplingParams;
  /** Most prompts of a batch that run at a time. When one fails, the others are cancelled. */
  readonly mostPrompts: number;
  /** Yields the pieces of the answers. The first piece of each begins with the assistant prefix. */
  chatPieces(args: ChatArgs, context: CallContext): Chunks;
  pieces(args: GenerateArgs, context: CallContext): Chunks;
}

/** Returns the text for a prompt, and what a request wants to know about it. */
export function generate(
  model: TextModel,
  { details, ...args }: GenerateArgs & WithDetails,
  context: CallContext,
): Promise<GeneratedText> {
  return wholeText(model.pieces(args, context), wantedOf(model, args.sampling_params, details));
}

/** Returns the methods of a model. The host has checked the arguments against the schemas of the deployment. */
export function textMethods(model: TextModel) {
  return {
    async chat(given: unknown, context: CallContext) {
      const { details, ...args } = given as ChatArgs & WithDetails;
      return wholeChat(model.chatPieces(args, context), wantedOf(model, args.sampling_params, details));
    },
    chat_stream: (args: unknown, context: CallContext) => model.chatPieces(args as ChatArgs, context),
    generate: async (args: unknown, context: CallContext) => generate(model, args as GenerateArgs, context),
    generate_stream: (args: unknown, context: CallContext) => model.pieces(args as GenerateArgs, context),
    async generate_batch(args: unknown, context: CallContext) {
      const { prompts, ...rest } = args as GenerateBatchArgs;
      const results = await boundedMap(prompts, model.mostPrompts, context.signal, (prompt, signal) =>
        generate(model, { ...rest, prompt }, { ...context, signal }),
      );
      return wholeBatch(results);
    },
  };
}

function wantedOf(
  { defaults }: TextModel,
  sampling: SamplingParams | null | undefined,
  details: boolean | undefined,
): Wanted {
  return { count: answerCount(sampling), details: details === true, ...wantedScores(defaults, sampling) };
}
