/** The pixels of an image. */
export interface LlamaImage {
  /** At most 32 768 pixels, like the height. */
  readonly width: number;
  readonly height: number;
  /** RGB, row by row, without padding: three times `width` times `height` bytes. Copied. */
  readonly pixels: Uint8Array;
  /** The SHA-256 of the pixels. Images with the same digest and size are taken for the same image. */
  readonly digest: Uint8Array;
}

/** The samples of a sound. */
export interface LlamaAudio {
  /** One channel at 16 kHz, at least one sample and at most a day of them, all finite. Copied. */
  readonly samples: Float32Array;
  /** The SHA-256 of the samples. Audio with the same digest is taken for the same. */
  readonly digest: Uint8Array;
}

export interface LlamaMessage {
  readonly role: string;
  readonly content: string;
  /** The content as texts, images and audio, in the place of `content`, which is then empty. */
  readonly parts?: readonly (string | LlamaImage | LlamaAudio)[];
  /** Reasoning of the assistant. */
  readonly reasoning?: string;
  readonly name?: string;
  /** `arguments` is the JSON text of an object. */
  readonly toolCalls?: readonly { readonly id?: string; readonly name: string; readonly arguments: string }[];
  /** The call that a message of the role `tool` answers. */
  readonly toolCallId?: string;
}

/** What the arguments of calls can be. */
export interface LlamaArgumentRules {
  /** Rules in GBNF, without a root. Their names begin with `args-`. */
  readonly text: string;
  /** The names of the rules of each tool, in the order of the tools. */
  readonly tools: readonly {
    /** Of the JSON object with all arguments. */
    readonly all: string;
    /** Of the JSON value of each argument. */
    readonly values: Readonly<Record<string, string>>;
    /** Of each argument that must be a text of a restricted form, where a template wants it without quotes. */
    readonly texts: Readonly<Record<string, string>>;
    /** A JSON Schema with the names and types of the arguments, for where llama.cpp does not take the tool's own. */
    readonly outline: string;
  }[];
}

/** Messages that the chat template turns into a text, and how the assistant may answer. */
export interface LlamaDialog {
  readonly messages: readonly LlamaMessage[];
  /** The beginning of the answer. */
  readonly prefix: string;
  /** Functions that the model may call. `parameters` is a JSON Schema as text. */
  readonly tools?: readonly { readonly name: string; readonly description?: string; readonly parameters: string }[];
  /** Default: llama.cpp makes the grammar of the arguments from their schema, and leaves out keywords. */
  readonly argumentRules?: LlamaArgumentRules;
  /** Whether the answer must call a tool. */
  readonly toolRequired?: boolean;
  /** The only tool that the answer may call, and must. */
  readonly requiredTool?: string;
  /** Whether the answer may have several calls. Default: whether the template can write several. */
  readonly parallelToolCalls?: boolean;
  /** Variables of the template, as JSON texts. */
  readonly templateArguments?: Readonly<Record<string, string>>;
  /** Whether reasoning is split off from the text. Default: true. */
  readonly splitReasoning?: boolean;
}

/**
 * A text, whose control tokens (such as `<|im_start|>`) are read as such, or a dialog that the chat template turns into
 * a text. The control tokens of a dialog come from the template alone: in everything that the dialog holds they are
 * text. Or the numbers of tokens, which nothing is added to.
 */
export type LlamaPrompt = { readonly text: string } | LlamaDialog | { readonly tokens: Int32Array };

/** What a count of tokens tells, and of which tokens. */
export interface LlamaCountOptions {
  /** Whether the event has the tokens, and not only their number. Default: false. */
  readonly tellsTokens?: boolean;
  /** Whether a text gets the tokens that the model wants around texts. Default: true. */
  readonly outerTokens?: boolean;
}
