import type { ImageChatDialog, Overflow, ResponseFormat, SamplingParams } from '../../../base/schemas/index.ts';
import type { ChatOptions } from './chat-prompt.ts';

// The arguments of the methods of a text model, as the host passes them on after it has checked them.

export interface WithDetails {
  readonly details?: boolean;
}

/** The arguments of `count_tokens`, of which exactly one of `dialog` and `text` is given. */
export interface CountTokensArgs extends ChatOptions {
  readonly dialog?: ImageChatDialog;
  readonly text?: string;
  readonly assistant_prefix?: string | null;
}

export interface ChatArgs extends ChatOptions {
  readonly dialog: ImageChatDialog;
  readonly sampling_params?: SamplingParams | null;
  readonly assistant_prefix?: string | null;
  readonly adapter?: string | null;
  readonly overflow?: Overflow | null;
  readonly response_format?: ResponseFormat | null;
  readonly prompt_tokens?: boolean;
}

export interface GenerateArgs {
  /** A text, or the numbers of tokens. */
  readonly prompt: string | readonly number[];
  readonly sampling_params?: SamplingParams | null;
  readonly adapter?: string | null;
  readonly overflow?: Overflow | null;
}

export interface GenerateBatchArgs extends WithDetails {
  readonly prompts: readonly string[];
  readonly sampling_params?: SamplingParams | null;
  readonly adapter?: string | null;
  readonly overflow?: Overflow | null;
}
