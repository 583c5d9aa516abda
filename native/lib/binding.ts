/** The types of the native addon's exports. Only replicas and other child processes load the addon for models. */

export interface NativeDevice {
  /** ggml's name, such as `CPU` or `CUDA0`. */
  readonly name: string;
  readonly description: string;
  readonly type: 'cpu' | 'gpu' | 'accelerator';
  readonly memoryFreeBytes: number;
  readonly memoryTotalBytes: number;
}

/** A GPU, or a partition of one, as NVIDIA's driver reports it to this process. */
export interface NativeDriverGpu {
  /** Identifier for `CUDA_VISIBLE_DEVICES`: `GPU-…`, or `MIG-…` for a partition. */
  readonly uuid: string;
  readonly name: string;
  readonly memoryTotalBytes: number;
}

/** The party whose mistake made a request fail. */
export type NativeFault = 'caller' | 'deployment' | 'overload' | 'cancelled';

/** The tenant, priority and deadline of a request. */
export interface RequestTerms {
  /**
   * Tenants share an engine by their weights, regardless of the number and priority of their requests. Requests without
   * a tenant share one further tenant.
   */
  readonly tenant?: string | null;
  /**
   * Requests with a higher priority begin before other requests of the same tenant. The language model engine counts
   * one level as 5 seconds of waiting, and levels from −24 to 24, so each request gets its turn. Default: 0.
   */
  readonly priority?: number;
  /** The tenant's part of the engine beside the weights of other tenants, 0.001 to 1000. Default: 1. */
  readonly weight?: number;
  /**
   * Milliseconds from now. A request that has not ended by then fails with `deadline-exceeded`. Default: no deadline.
   */
  readonly deadlineMs?: number;
}

/** The file of a model for llama.cpp, and the processors that compute it. */
export interface LlamaModelOptions {
  readonly modelPath: string;
  readonly threads: number;
  /** Number of layers on the GPU; −1 for all. Ignored without a GPU. */
  readonly gpuLayers: number;
  /** Names of the GPUs to use, as `devices()` returns them. Default: all GPUs that this process sees. */
  readonly devices?: readonly string[];
  /**
   * How the model is divided among several GPUs: not at all, by layers (the default), by rows of matrices, or every
   * tensor.
   */
  readonly splitMode?: 'none' | 'layer' | 'row' | 'tensor';
  /** Index of the GPU that holds the whole model if it is not divided. Default: 0. */
  readonly mainGpu?: number;
  /** The share of each GPU, in any unit. Default: in proportion to their free memory. */
  readonly tensorSplit?: readonly number[];
}

export interface LlamaLoadOptions extends LlamaModelOptions {
  /**
   * Tokens that one sequence can hold, prompt and completion together. 0: the number that the model was trained with.
   */
  readonly contextTokens: number;
  /** Number of sequences decoded at the same time, 1 to 64. */
  readonly maxSequences: number;
  /** A request fails if its reader takes nothing for this many milliseconds. Default: 60 000. */
  readonly readerTimeoutMs?: number;
  /** Prompt tokens decoded in one step. A limit keeps a long prompt from delaying running sequences. */
  readonly prefillTokensPerStep: number;
  /**
   * Tokens that are guessed and computed with the next ones, 0 to 256 in a step, all sequences together. Right guesses
   * save steps; the text stays the same. Default: 0.
   */
  readonly guessedTokensPerStep?: number;
  /**
   * File of a smaller model with the same vocabulary, which guesses the tokens. Default: they are guessed from the
   * earlier tokens of their sequences.
   */
  readonly draftModelPath?: string;
  /** The smaller model guesses no token that it holds for less likely, 0 to 1. Default: 0.5. */
  readonly leastGuessProbability?: number;
  /**
   * Whether all sequences share the cells of one cache. Otherwise each sequence has a cache of its own. Default: false.
   */
  readonly kvUnified?: boolean;
  /**
   * Cells of the cache that all sequences share; implies `kvUnified`. At least the cells of one sequence. With fewer
   * than all sequences can use, sequences lose their cells when they run out, and are computed again later. 0, the
   * default: as many as all sequences can use.
   */
  readonly totalCells?: number;
  /** Whether a request may reuse what was computed for the prompt of another tenant. Default: true. */
  readonly sharesPrefixesAmongTenants?: boolean;
  /** Type of the cached keys and values. */
  readonly kvType: 'f16' | 'q8_0';
  /** Keeps what was computed for prompts on disk, also for later engines of the same model. Default: not. */
  readonly promptCache?: {
    /** Made if it does not exist. Several engines can use one. */
    readonly folder: string;
    /** Of all files together. Files that were used the longest ago are deleted. */
    readonly maxBytes: number;
    /** A prompt is kept if this many of its tokens are in no other file, and read if it spares as many. Default: 256. */
    readonly minTokens?: number;
  };
  /** Jinja template that replaces the model's own. */
  readonly chatTemplate?: string;
  /** Files of LoRA adapters. Requests name them by their place in this list. */
  readonly adapters?: readonly string[];
}

/** The LoRA adapter of a request. */
export interface LlamaAdapterUse {
  /** Place in the `adapters` of the load. */
  readonly index: number;
  /** How strongly the adapter changes the model; 1 as it was trained. */
  readonly scale: number;
}

/** What a request may say besides its sampling and its terms. */
export interface LlamaRequestOptions {
  /** Default: the model without an adapter. A step computes the sequences of one adapter; adapters take turns. */
  readonly adapter?: LlamaAdapterUse;
  /**
   * What happens when the context has no room. `error`, the default: a prompt that is too long is refused, and an answer
   * ends when the context is full. `truncate_middle`: the prompt loses its oldest turns, then the middle of its longest
   * texts. `shift`: a full context forgets the older half behind its beginning, and the answer goes on; refused where
   * `canShift` is false.
   */
  readonly overflow?: 'error' | 'truncate_middle' | 'shift';
}

export interface LlamaModelInfo {
  readonly description: string;
  readonly sizeBytes: number;
  readonly parameterCount: number;
  readonly trainedContextTokens: number;
  /** Tokens that one sequence can hold. */
  readonly contextTokens: number;
  readonly vocabularySize: number;
  readonly hasChatTemplate: boolean;
  /** Whether requests can have the `overflow` `shift`. */
  readonly canShift: boolean;
}

/** How the tokens of a request are chosen. What is absent is off. */
export interface LlamaSampling {
  /** 0: always the likeliest token. */
  readonly temperature: number;
  /** −1 turns it off. */
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly typicalP?: number;
  /** Over the tokens of prompt and completion; 1: off. */
  readonly repetitionPenalty: number;
  /** Over the tokens of the completion. */
  readonly presencePenalty?: number;
  /** Over the tokens of the completion. */
  readonly frequencyPenalty?: number;
  /** Against repeated sequences. `lastTokens` −1: all. */
  readonly dry?: {
    readonly multiplier: number;
    readonly base?: number;
    readonly allowedLength?: number;
    readonly lastTokens?: number;
    readonly sequenceBreakers?: readonly string[];
  };
  readonly xtc?: { readonly probability: number; readonly threshold: number };
  /** Takes the place of the stages from top-k to XTC. */
  readonly mirostat?: { readonly version: 0 | 1 | 2; readonly tau?: number; readonly eta?: number };
  /** Added to the logits of tokens. */
  readonly logitBias?: readonly { readonly token: number; readonly bias: number }[];
  /** Sequences of tokens that are not completed. */
  readonly badWords?: readonly string[];
  readonly seed: number;
  readonly maxTokens: number;
  /** Tokens before which the completion does not end by itself. */
  readonly minTokens?: number;
  /** Whether the model's own end tokens are never chosen. */
  readonly ignoreEos?: boolean;
  readonly stop: readonly string[];
  /** Tokens that end the completion; they are no part of it. */
  readonly stopTokenIds?: readonly number[];
  /** Number of the likeliest tokens in the `scores` of each token. Absent: texts have no scores. */
  readonly logprobs?: number;
  /**
   * Number of the likeliest tokens in the `promptScores` of each token of the prompt. Absent: they are not told. The
   * prompt is then computed as a whole, also where it was cached, in steps of at most 16 tokens.
   */
  readonly promptLogprobs?: number;
  /**
   * Whether the logits do not depend on other requests. The sequence is then computed alone in steps of a fixed shape,
   * without guessed tokens. Needs a cache for each sequence: with `kvUnified` or `totalCells` the request fails with
   * `invalid-sampling`. Default: false.
   */
  readonly reproducible?: boolean;
  readonly grammar?: LlamaGrammar;
}

/** A token with its natural log-probability, as the model gave it. */
export interface LlamaScoredToken {
  readonly id: number;
  /** UTF-8, maybe not whole characters. Control tokens have theirs, too. */
  readonly bytes: Uint8Array;
  /** Minus infinity for a token that the model excludes. */
  readonly logprob: number;
}

/** A token of a completion, and the likeliest tokens at its place. */
export interface LlamaTokenScores extends LlamaScoredToken {
  readonly top: readonly LlamaScoredToken[];
}

/** A token of a prompt. The first one has no score, because no token is before it. */
export interface LlamaPromptToken {
  readonly id: number;
  readonly bytes: Uint8Array;
  readonly logprob?: number;
  /** Its place among all tokens by their probabilities; 1 for the likeliest. */
  readonly rank?: number;
  readonly top?: readonly LlamaScoredToken[];
}

/** A grammar that the completion must meet. Where nothing can follow, the completion ends. */
export interface LlamaGrammar {
  /** In llama.cpp's notation (GBNF). */
  readonly text: string;
  /** The rule that the completion meets. Default: `root`. */
  readonly root?: string;
  /** With words or tokens as triggers the text is free until one comes. The grammar applies from the trigger on. */
  readonly triggerWords?: readonly string[];
  readonly triggerTokens?: readonly number[];
  /** Control tokens that the grammar reads as their texts. It allows no other control tokens. */
  readonly visibleTokens?: readonly number[];
  /** Whether a completion that `maxTokens` cuts gets the shortest end that meets the grammar. Default: false. */
  readonly closes?: boolean;
}

/** The next piece of a call of a tool. The first piece of a call has its name. */
export interface LlamaCallDelta {
  readonly index: number;
  readonly name?: string;
  /** Of the JSON text of the arguments. */
  readonly arguments: string;
}

/** What an engine has done since its load, and what it has at the moment. */
export interface LlamaCounts {
  /** Number of steps of the decode loop. */
  readonly steps: number;
  /** Passes over the weights in these steps. */
  readonly ubatches: number;
  /** Tokens that were computed. */
  readonly computedTokens: number;
  /** Further tokens that were computed for nothing, because they join sequences in one pass over the weights. */
  readonly idleTokens: number;
  /** Prompt tokens of the requests that began. */
  readonly promptTokens: number;
  /** Those prompt tokens whose keys and values were cached. */
  readonly reusedTokens: number;
  /** Those cached prompt tokens that came from disk. */
  readonly restoredTokens: number;
  /** Requests that lost their cells while they ran, and were computed again. */
  readonly preemptions: number;
  /** Times that a full context forgot a part of a request that goes on. */
  readonly shifts: number;
  /** Tokens that were guessed, and those of them that came true. */
  readonly guessedTokens: number;
  readonly acceptedTokens: number;
  /** Tokens that were chosen. */
  readonly generatedTokens: number;
  /** Time of the steps, divided by the tokens of prompts and of answers in each. */
  readonly prefillSeconds: number;
  readonly decodeSeconds: number;
  /** Requests that waited for a place, or for their readers, at the end of the last step. */
  readonly waiting: number;
  /** Requests that had a place then. */
  readonly running: number;
  /** Cells that had keys and values then, also those of requests that ended. */
  readonly usedCells: number;
  /** Cells of the context. 0 before the first step. */
  readonly cells: number;
}

export type LlamaFinishReason = 'stop' | 'length' | 'cancelled';

/** One event of a request. `text` is valid UTF-8, because the bytes of an unfinished character are held back. */
export type LlamaEvent =
  | {
      readonly id: number;
      readonly type: 'text';
      /** Empty only where the event has something else. */
      readonly text: string;
      readonly tokens: number;
      /** Reasoning of an answer to a dialog. `text` is then the rest of the answer, or empty. */
      readonly reasoning?: string;
      /** Pieces of calls of tools. `text` may then be empty. */
      readonly calls?: readonly LlamaCallDelta[];
      readonly scores?: readonly LlamaTokenScores[];
      /** The next tokens of the prompt, if `promptLogprobs` asks for them. They come before the completion. */
      readonly promptScores?: readonly LlamaPromptToken[];
    }
  | {
      readonly id: number;
      readonly type: 'end';
      readonly reason: LlamaFinishReason;
      readonly promptTokens: number;
      /** Prompt tokens whose keys and values were still cached from an earlier request. */
      readonly reusedTokens: number;
      readonly completionTokens: number;
      /** Tokens of the completion that are reasoning. */
      readonly reasoningTokens: number;
      /** Milliseconds from the arrival of the request until it got a place; the prompt was tokenized meanwhile. */
      readonly queueMs: number;
      /** Milliseconds from then until the first token. */
      readonly promptMs: number;
      /** Milliseconds from the first token to the end. */
      readonly completionMs: number;
      /** Tokens that did not fit into the context, and messages that were left out of the prompt as a whole. Absent: none. */
      readonly droppedTokens?: number;
      readonly droppedMessages?: number;
    }
  | {
      readonly id: number;
      readonly type: 'count';
      readonly tokens: number;
      /** The numbers of the tokens, if `tellsTokens` asks for them and there are any. */
      readonly ids?: Int32Array;
      /** The bytes of all tokens, one after the other. Control tokens have the bytes of their text. */
      readonly bytes?: Uint8Array;
      /** For each token, the number of its bytes. */
      readonly lengths?: Int32Array;
    }
  | {
      readonly id: number;
      readonly type: 'error';
      readonly code: LlamaErrorCode;
      readonly fault: NativeFault;
      readonly message: string;
      /** Tokens of the prompt. With `prompt-too-long`, those of its beginning where the rest was not read. */
      readonly promptTokens: number;
      readonly maxTokens: number;
    };

/**
 * `template` means that the template refuses the dialog, `invalid-sampling` that the sampling parameters do not fit the
 * model or leave no token to choose, and `engine-ended` that the engine can serve no more requests.
 */
export type LlamaErrorCode =
  | 'prompt-too-long'
  | 'empty-prompt'
  | 'template'
  | 'invalid-sampling'
  | 'deadline-exceeded'
  | 'slow-reader'
  | 'no-room'
  | 'engine-ended'
  | 'failed';

export interface LlamaMessage {
  readonly role: string;
  readonly content: string;
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

export interface NativeLlamaEngine {
  readonly info: LlamaModelInfo;
  /**
   * Queues a request. Its events go to the listener given to `loadLlama`. The caller chooses `id`. Throws when a request
   * with this id is running, or when an option has the wrong type.
   */
  submit(id: number, prompt: LlamaPrompt, options: LlamaSampling & RequestTerms & LlamaRequestOptions): void;
  /** Ends a request at the next step. An `end` event with reason `cancelled` follows. Unknown ids are ignored. */
  cancel(id: number): void;
  /**
   * Reports how many `text` events of a request were consumed. It lets the engine pause the sequence of a slow reader
   * without pausing others. A sequence that is paused for a second yields its place to a waiting request and continues
   * later. A request whose reader takes nothing for `readerTimeoutMs` fails.
   */
  acknowledge(id: number, events: number): void;
  /** Counts the tokens of a prompt. A `count` or `error` event follows. The caller chooses `id`. */
  countTokens(id: number, prompt: LlamaPrompt, options: RequestTerms & LlamaCountOptions): void;
  /**
   * Why the engine's thread ended unexpectedly. Empty while it works and after `close`. All requests have then failed
   * with `engine-ended`.
   */
  readonly failure: string;
  /** Number of steps of the decode loop. It grows while there is work. */
  readonly steps: number;
  readonly counts: LlamaCounts;
  /** Whether it has requests that it can continue. False if all of their readers are behind. */
  readonly busy: boolean;
  /** Grows continuously while `busy` is true, also inside a step. If it stops growing for long, the engine hangs. */
  readonly beats: number;
  /** Ends all requests and frees the model. May be called twice. */
  close(): Promise<void>;
}

export interface LlamaEmbeddingLoadOptions extends LlamaModelOptions {
  /** `embed` computes a vector for each text, `rank` the scores of pairs of a query and a document. */
  readonly task: 'embed' | 'rank';
  /** Of `embed`. Default: the pooling that the model's file states. */
  readonly pooling?: 'mean' | 'cls' | 'last';
  /** Most tokens of a text. 0: the number that the model was trained with. */
  readonly maxTokens: number;
  /** Tokens of one computation. There are more where a model must compute a longer text at once. */
  readonly batchTokens: number;
  /** Of `rank`: a text with `{query}` and `{document}` that replaces the model's own template. */
  readonly rankTemplate?: string;
}

export interface LlamaEmbeddingInfo {
  readonly description: string;
  readonly sizeBytes: number;
  readonly parameterCount: number;
  readonly vocabularySize: number;
  readonly trainedContextTokens: number;
  /** Most tokens of a text, with the tokens that the model wants around it. */
  readonly maxTokens: number;
  readonly batchTokens: number;
  /** Numbers in the vector of a text; of a reranker, the number of its scores. */
  readonly dimensions: number;
  readonly pooling: 'mean' | 'cls' | 'last' | 'rank';
  /** Whether the first score of a reranker is a probability. Otherwise it is any number. */
  readonly hasProbabilities: boolean;
}

/** The last and only event of a request for embeddings or scores. */
export type LlamaEmbeddingEvent =
  | {
      readonly id: number;
      readonly type: 'vectors';
      /** `dimensions` numbers for each text, one text after the other; empty for `countTokens`. */
      readonly values: Float32Array;
      /** Tokens of each text, after it was truncated. */
      readonly tokens: Int32Array;
    }
  | { readonly id: number; readonly type: 'cancelled' }
  | Extract<LlamaEvent, { readonly type: 'error' }>;

export interface LlamaEmbeddingInput {
  /** Of a reranker. */
  readonly query?: string;
  /**
   * Texts to embed, or the documents of a reranker. Texts of control tokens in them are read as text. A text to embed may
   * be given as its tokens, which are computed as they are, without others around them.
   */
  readonly texts: readonly (string | readonly number[])[];
}

export interface LlamaEmbeddingRequestOptions extends RequestTerms {
  /**
   * What happens to a text that has more tokens than `maxTokens`: the request fails (`none`, the default), or the text
   * loses tokens at its `start` or `end`.
   */
  readonly truncate?: 'none' | 'start' | 'end';
}

export interface NativeLlamaEmbeddingEngine {
  readonly info: LlamaEmbeddingInfo;
  /**
   * Queues a request. Its event goes to the listener given to `loadLlamaEmbedding`. The caller chooses `id`. Throws when
   * a request with this id is running, or when an option has the wrong type.
   */
  submit(id: number, input: LlamaEmbeddingInput, options: LlamaEmbeddingRequestOptions): void;
  /** Counts the tokens of each text. Otherwise like `submit`. */
  countTokens(id: number, input: LlamaEmbeddingInput, options: LlamaEmbeddingRequestOptions): void;
  /**
   * Ends a request. A `cancelled` event follows. A computation that only this request needs ends soon afterwards.
   * Unknown ids are ignored.
   */
  cancel(id: number): void;
  /** See `NativeLlamaEngine`. */
  readonly failure: string;
  /** Number of computations. It grows while there is work. */
  readonly steps: number;
  readonly busy: boolean;
  readonly beats: number;
  /** Ends all requests and frees the model. May be called twice. */
  close(): Promise<void>;
}

export interface WhisperLoadOptions {
  readonly modelPath: string;
  /** Path of a Silero model in ggml format. */
  readonly vadModelPath: string;
  readonly useGpu: boolean;
  /** Name of the GPU to use, as `devices()` returns it. Default: the first GPU that this process sees. */
  readonly device?: string;
  /** Number of threads of one computation. */
  readonly threads: number;
  /** Number of computations at the same time, 1 to 16. Each has its own memory; all share the loaded model. */
  readonly maxStates: number;
  /** Number of windows that one computation decodes together, 1 to 64. Default: 8. */
  readonly batchSize?: number;
  /** Whisper size (`tiny.en`, `base`, …), which selects the alignment heads for word times. */
  readonly modelSize?: string;
}

/** Names and meanings are those of faster-whisper. */
export interface WhisperNativeParams {
  /** `auto` detects the language. */
  readonly language: string;
  readonly beamSize: number;
  readonly bestOf: number;
  /** The search ends when so many times `beamSize` texts have ended. Default: 1. */
  readonly patience?: number;
  /** Whether the text is in English, whatever the speech is in. Default: false. */
  readonly translate?: boolean;
  /**
   * Whether the language of each window is found, not only that of the first one. `language` must be `auto`, and the
   * model multilingual. Default: false.
   */
  readonly multilingual?: boolean;
  /** Text before each window. Whisper writes names and terms as they stand there. */
  readonly initialPrompt?: string;
  /** Text that the first window begins with. The result lacks it. */
  readonly prefix?: string;
  /** Words that are likely. Not used for a window with a prefix. */
  readonly hotwords?: string;
  /** Whether the text of a window is the prompt of the next one, which then waits for it. Default: false. */
  readonly conditionOnPreviousText?: boolean;
  /** A text of a higher temperature is no such prompt. Default: 0.5. */
  readonly promptResetOnTemperature?: number;
  /** Tried in turn while the text of a window is unlikely. Not empty. */
  readonly temperatures: readonly number[];
  /** A text whose tokens have a lower mean log-probability is unlikely, except in a window without speech. Default: −1. */
  readonly logProbThreshold?: number;
  /** A window has no speech above this probability, if its text is unlikely. Default: 0.6. */
  readonly noSpeechThreshold?: number;
  /** A text is unlikely, too, when compression makes it so many times shorter. Default: 2.4. */
  readonly compressionRatioThreshold?: number;
  /** The log-probability of a text is divided by its length to this power. Default: 1. */
  readonly lengthPenalty?: number;
  /** Above 1: tokens that the text has become less likely. Default: 1. */
  readonly repetitionPenalty?: number;
  /** Above 0: no sequence of so many tokens occurs twice. Default: 0. */
  readonly noRepeatNgramSize?: number;
  /** Whether a text never begins with a space or its end. Default: true. */
  readonly suppressBlank?: boolean;
  /** Tokens that are never chosen; −1 stands for signs that are not spoken. Default: [−1]. */
  readonly suppressTokens?: readonly number[];
  /** The latest start of the first segment of a window, in seconds. Default: 1. */
  readonly maxInitialTimestamp?: number;
  /**
   * Frames of 20 ms that the encoder computes for a window, 0 to 1500. The audio must fit into them. Fewer take less
   * time, but the text is worse when little room is left after the audio. Default: 0, which means all 1500.
   */
  readonly audioContext?: number;
  /** The most tokens of a window's text. Default: 224. */
  readonly maxNewTokens?: number;
  readonly withoutTimestamps: boolean;
  readonly wordTimestamps: boolean;
  /** Characters that are joined to the next word. */
  readonly prependPunctuations?: string;
  /** Characters that are joined to the previous word. */
  readonly appendPunctuations?: string;
  /** Whether to transcribe only the parts with speech. Otherwise windows without any voice are left out. */
  readonly vad: boolean;
  /**
   * The parts to transcribe, in samples, instead of those with speech (`vad` must be true). A part of more than 30 s is
   * cut at quiet places. A part after the end of the audio is left out.
   */
  readonly clips?: readonly { readonly begin: number; readonly end: number }[];
  /** Most windows of this request that are transcribed at the same time. Default: as many as there are states. */
  readonly maxWindows?: number;
}

export interface WhisperNativeWord {
  readonly word: string;
  readonly start: number;
  readonly end: number;
  readonly probability: number;
}

export interface WhisperNativeSegment {
  readonly text: string;
  /** Seconds from the start of the audio; `0 ≤ start ≤ end ≤ duration`. */
  readonly start: number;
  readonly end: number;
  /** Mean log probability of the tokens. */
  readonly averageLogProbability: number;
  readonly noSpeechProbability: number;
  readonly words: readonly WhisperNativeWord[];
  /** Of its window, and its probability. Absent unless `multilingual` is true. */
  readonly language?: string;
  readonly languageProbability?: number;
}

export interface WhisperNativeResult {
  readonly segments: readonly WhisperNativeSegment[];
  /** Empty if no speech was found. */
  readonly language: string;
  readonly languageProbability: number;
}

/** A file with one channel of an audio: raw little-endian 32-bit floats in [−1, 1], mono, 16 kHz. */
export interface NativeAudioFile {
  /** Not used for a channel without samples. */
  readonly path: string;
  readonly samples: number;
  /** The name in error messages. */
  readonly name: string;
}

/**
 * Samples in [−1, 1], mono, 16 kHz, which are copied. Or files whose mean is transcribed; a shorter file is silent after
 * its end. Files are read in small parts while the engine needs them. NaN and infinities count as 0.
 */
export type NativeAudio = Float32Array | readonly NativeAudioFile[];

export interface NativeWhisperEngine {
  readonly info: { readonly multilingual: boolean; readonly vocabularySize: number; readonly type: string };
  /**
   * Transcribes an audio. `id` identifies the request for `cancelTranscription`. `onSegment` is called with each segment,
   * in order, when it is final. `onProgress` is called with the fraction of the audio that is done, from 0 to 1, after
   * each percent. Rejects with an Error whose `code` is `cancelled`, `deadline-exceeded`, `unreadable-audio` or `failed`,
   * and whose `fault` is a {@link NativeFault}.
   */
  transcribe(
    id: number,
    audio: NativeAudio,
    params: WhisperNativeParams & RequestTerms,
    onSegment?: (segment: WhisperNativeSegment) => void,
    onProgress?: (fraction: number) => void,
  ): Promise<WhisperNativeResult>;
  cancelTranscription(id: number): void;
  /** Returns the regions of speech in seconds. */
  detectSpeech(audio: NativeAudio): Promise<readonly { readonly start: number; readonly end: number }[]>;
  /** Number of windows finished so far. It grows while there is work. */
  readonly steps: number;
  /** Whether it has requests and no thread does long work that cannot be followed, such as reading weights. */
  readonly busy: boolean;
  /** Grows continuously while `busy` is true, also inside a window. If it stops growing for long, the engine hangs. */
  readonly beats: number;
  close(): Promise<void>;
}

/** The probability of speech for each frame of a part of an audio, and what the model remembers after it. */
export interface NativeSpeechPart {
  /** 0 to 1, one for each 512 samples. */
  readonly probabilities: Float32Array;
  readonly state: Float32Array;
}

/** Silero's model of voice activity. */
export interface NativeVoiceDetector {
  /**
   * Computes `samples` samples from `begin` on, or those up to the end of the audio. Both are multiples of 512. `state`
   * is that of the part before, and absent for the first one. Calls of one detector run one after the other. Rejects
   * with an Error whose `code` is `unreadable-audio` or `failed`.
   */
  detect(audio: NativeAudio, begin: number, samples: number, state?: Float32Array): Promise<NativeSpeechPart>;
}

export interface NativeBinding {
  readonly versions: {
    readonly llama: string;
    readonly whisper: string;
    readonly ggml: string;
    readonly mode: 'prebuilt' | 'source';
  };
  /**
   * Loads ggml's backends (CPU variants, CUDA) from `directories`. Must be called once per process, before a model is
   * loaded. Does nothing in `source` mode.
   */
  loadBackends(directories: readonly string[]): void;
  devices(): NativeDevice[];
  /**
   * Returns the GPUs that `CUDA_VISIBLE_DEVICES` permits, in CUDA's order; empty without NVIDIA's driver. Needs neither
   * nvidia-smi nor ggml's CUDA backend.
   */
  driverGpus(): NativeDriverGpu[];
  /**
   * Writes the model of `source` with another type of weights to `target`. Blocks until it is written. Throws an Error
   * with the reason. ggml ends the process on internal errors, so a process of its own calls this.
   */
  quantizeModel(source: string, target: string, type: string, threads: number): void;
  /** Sets the listener for the engines' log lines. `debug` lines are dropped before they reach JavaScript. */
  setLogger(listener: (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void): void;
  /**
   * Loads a model on its own thread. `onEvents` is called with all events since its last call, in order. `onProgress`
   * is called with a fraction from 0 to 1. Rejects with an Error that names the file and the reason: missing,
   * truncated, not a model, or not enough memory.
   */
  loadLlama(
    options: LlamaLoadOptions,
    onEvents: (events: LlamaEvent[]) => void,
    onProgress: (fraction: number) => void,
  ): Promise<NativeLlamaEngine>;
  /** Loads a model for embeddings or scores. Otherwise like `loadLlama`. */
  loadLlamaEmbedding(
    options: LlamaEmbeddingLoadOptions,
    onEvents: (events: LlamaEmbeddingEvent[]) => void,
    onProgress: (fraction: number) => void,
  ): Promise<NativeLlamaEmbeddingEngine>;
  loadWhisper(options: WhisperLoadOptions): Promise<NativeWhisperEngine>;
  /** Loads a Silero model in ggml form. Rejects with an Error that names the file. */
  loadVoiceDetector(modelPath: string): Promise<NativeVoiceDetector>;
}
