import type * as z from 'zod/mini';
import type { LlamaDialog, LlamaMessage } from '../../../../native/lib/index.ts';
import type { AanaError } from '../../../base/core/errors.ts';
import type {
  ImageChatDialog,
  chatOptions,
  ContentPart,
  DialogMessage,
  ToolDefinition,
} from '../../../base/schemas/index.ts';
import { wrongArgument } from '../wrong-argument.ts';
import { textBefore } from './frames.ts';
import type { Media } from './media.ts';
import { toolRules } from './tool-rules.ts';

/** The checked options of a chat. */
export type ChatOptions = z.output<z.ZodMiniObject<typeof chatOptions>>;

const NO_PARAMETERS = { type: 'object', properties: {} };

/** The prompt of a dialog. */
export interface ChatPrompt {
  readonly prompt: LlamaDialog;
  /** Places in the arguments of the call: keywords of tools that do not bind their calls, as JSON pointers. */
  readonly unbound: readonly string[];
}

/**
 * Returns the prompt of a dialog. Throws `ValidationError` when `tool_choice` does not fit `tools`, and `InvalidPrompt`
 * for a strict tool whose parameters no grammar can express. `media` has those of the dialog.
 */
export function chatPrompt(
  dialog: ImageChatDialog,
  prefix: string,
  options: ChatOptions,
  cacheKey: string,
  media: Media = new Map(),
): ChatPrompt {
  const {
    parallel_tool_calls: parallel,
    chat_template_kwargs: templateArguments,
    reasoning_format: reasoning,
  } = options;
  const { unbound, ...tools } = toolsOf(options, cacheKey);
  const prompt: LlamaDialog = {
    messages: dialog.messages.map((message) => toMessage(message, media)),
    prefix,
    ...tools,
    ...(typeof parallel === 'boolean' && { parallelToolCalls: parallel }),
    ...(templateArguments && {
      templateArguments: Object.fromEntries(
        Object.entries(templateArguments).map(([name, value]) => [name, JSON.stringify(value)]),
      ),
    }),
    ...(reasoning === 'none' && { splitReasoning: false }),
  };
  return { prompt, unbound };
}

/** Returns the tools that the model may call. `tool_choice` "none" hides them. */
export function activeTools({ tools, tool_choice: choice }: ChatOptions): readonly ToolDefinition[] {
  return choice === 'none' ? [] : (tools ?? []);
}

type PromptTools = Pick<LlamaDialog, 'tools' | 'toolRequired' | 'requiredTool' | 'argumentRules'>;

function toolsOf(options: ChatOptions, cacheKey: string): PromptTools & Pick<ChatPrompt, 'unbound'> {
  const { tool_choice: choice } = options;
  const tools = activeTools(options);
  if (typeof choice === 'object' && choice !== null) {
    const { name } = choice.function;
    if (!tools.some((tool) => tool.function.name === name))
      throw invalidChoice(`it names the function ${JSON.stringify(name)}, which is not among the tools`);
  } else if (choice === 'required' && tools.length === 0)
    throw invalidChoice('it is "required", but there are no tools');
  if (tools.length === 0) return { unbound: [] };
  const described = tools.map(({ function: { name, description, parameters } }) => ({
    name,
    ...(description && { description }),
    parameters: JSON.stringify(parameters && Object.keys(parameters).length > 0 ? parameters : NO_PARAMETERS),
  }));
  const bound = tools.filter((tool) => tool.function.strict === true).map((tool) => tool.function.name);
  const { rules, unbound } = toolRules(described, new Set(bound), cacheKey);
  return {
    unbound,
    tools: described,
    argumentRules: rules,
    ...(choice === 'required' && { toolRequired: true }),
    ...(typeof choice === 'object' && choice !== null && { requiredTool: choice.function.name }),
  };
}

const invalidChoice = (why: string): AanaError => wrongArgument('ValidationError', ['tool_choice'], why);

function partsOf(part: ContentPart, media: Media): NonNullable<LlamaMessage['parts']> {
  if (part.type === 'text') return [part.text];
  const text = textBefore(part);
  const medium = media.get(part)!;
  return text === undefined ? [medium] : [text, medium];
}

function toMessage(message: DialogMessage, media: Media): LlamaMessage {
  const { role, content, name, reasoning_content: reasoning, tool_calls: calls, tool_call_id: toolCallId } = message;
  return {
    role,
    ...(typeof content === 'string'
      ? { content }
      : { content: '', parts: content.flatMap((part) => partsOf(part, media)) }),
    ...(name !== undefined && { name }),
    ...(reasoning !== undefined && { reasoning }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(calls && {
      toolCalls: calls.map(({ id, function: { name: called, arguments: args } }) => ({
        id,
        name: called,
        // Escapes could spell a control token, which the template would write out.
        arguments: args.includes('\\u') ? JSON.stringify(JSON.parse(args)) : args,
      })),
    }),
  };
}
