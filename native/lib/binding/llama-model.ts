/** The file of a model for llama.cpp, and the processors that compute it. */
export interface LlamaModelOptions {
  readonly modelPath: string;
  readonly threads: number;
  /**
   * Number of layers on the GPU; −1 for all, `auto` for as many as fit beside the context. Ignored without a GPU.
   */
  readonly gpuLayers: number | 'auto';
  /** Names of the GPUs to use, as `devices()` returns them. Default: all GPUs that this process sees. */
  readonly devices?: readonly string[];
  /**
   * How the model is divided among several GPUs: not at all, by layers (the default), by rows of matrices, or every
   * tensor.
   */
  readonly splitMode?: 'none' | 'layer' | 'row' | 'tensor';
  /** Index of the GPU that holds the whole model if it is not divided. Default: 0. */
  readonly mainGpu?: number;
  /** The share of each GPU, in any unit. Default: in proportion to their free memory. Not with `gpuLayers` `auto`. */
  readonly tensorSplit?: readonly number[];
  /** Default: `auto`, where the processors of the model can. */
  readonly flashAttention?: 'auto' | 'on' | 'off';
  /** Whether the weights stay in the file, which is mapped. Default: true. */
  readonly mapsFile?: boolean;
  /**
   * File of the weights as the kernels of the addon need them, for processors. Processes map it together, if the model
   * file is mapped, too. Made if it does not exist. Default: each process makes its own copy in memory.
   */
  readonly packedPath?: string;
  /** Whether the weights are kept in memory, as far as the limit of the process allows. Default: false. */
  readonly locksMemory?: boolean;
}

export type LlamaKvType = 'f16' | 'bf16' | 'q8_0' | 'q5_1' | 'q5_0' | 'q4_1' | 'q4_0';

/** Scaling of positions. A sequence can hold `factor` times `originalTokens`. */
export interface LlamaRopeScaling {
  readonly type: 'linear' | 'yarn';
  /** From 1 on. */
  readonly factor: number;
  readonly originalTokens: number;
  /** Begin and end of the dimensions that YaRN mixes (`beta_fast` and `beta_slow` of arXiv:2309.00071). */
  readonly betaFast: number;
  readonly betaSlow: number;
}

export interface LlamaLoadOptions extends LlamaModelOptions {
  /**
   * Tokens that one sequence can hold, prompt and completion together, at most what the model was trained with or
   * `ropeScaling` allows. 0: as many as that.
   */
  readonly contextTokens: number;
  /** How positions are scaled, so that sequences can be longer. Default: as the file says. */
  readonly ropeScaling?: LlamaRopeScaling;
  /** Base of the frequencies of the position embedding. Default: as the file says. */
  readonly ropeFrequencyBase?: number;
  /** Number of sequences decoded at the same time, 1 to 256. */
  readonly maxSequences: number;
  /** A request fails if its reader takes nothing for this many milliseconds. Default: 60 000. */
  readonly readerTimeoutMs?: number;
  /** Prompt tokens decoded in one step. A limit keeps a long prompt from delaying running sequences. */
  readonly prefillTokensPerStep: number;
  /** Tokens that one pass over the weights computes at most, 32 to 65 536. A step may take several. Default: 512. */
  readonly passTokens?: number;
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
   * Cells of a cache that all sequences share, at least those of one sequence and at most what all can use. With fewer
   * than all can use, sequences lose their cells when they run out, and are computed again later. 0, the default: each
   * sequence has a cache of its own.
   */
  readonly totalCells?: number;
  /**
   * Whether layers whose tokens attend to the last ones only (sliding window) keep all tokens of a sequence. Otherwise
   * they keep little more than their window: less memory, but only the whole of what was computed for a text is reused,
   * or all but its last few hundred tokens, and `canShift` is false. No matter to models without such layers. Default:
   * true.
   */
  readonly keepsAllWindows?: boolean;
  /** Types of the cached keys and values. Values of a type with a q need flash attention. */
  readonly keyType: LlamaKvType;
  readonly valueType: LlamaKvType;
  /**
   * Most bytes of main memory in which the engine keeps what it computed for texts that lost their place. A tenant with
   * many texts does not drive out those of others. Default: 0.
   */
  readonly keptBytes?: number;
  /** Keeps what was computed for prompts on disk, also for later engines of the same model. Default: not. */
  readonly promptCache?: {
    /** Made if it does not exist. Several engines can use one. */
    readonly folder: string;
    /** Of all files together. Files that were used the longest ago are deleted. */
    readonly maxBytes: number;
    /**
     * A prompt is kept if this many of its tokens are in no other file, and read if it spares as many. Default: 256.
     */
    readonly minTokens?: number;
  };
  /** Jinja template that replaces the model's own. */
  readonly chatTemplate?: string;
  /**
   * GGUF file of the encoder of images that the model was trained with. Default: messages have no images.
   */
  readonly projectorPath?: string;
  /** Files of LoRA adapters. Requests name them by their place in this list. */
  readonly adapters?: readonly string[];
}

export interface LlamaModelInfo {
  readonly description: string;
  /** Tokens that one sequence can hold. */
  readonly contextTokens: number;
  readonly vocabularySize: number;
  /** Whether requests can have the `overflow` `shift`. */
  readonly canShift: boolean;
  /** Whether messages can have images. */
  readonly readsImages: boolean;
  /** Whether messages can have audio. */
  readonly readsAudio: boolean;
  /** Tokens that each whole 30 s of audio have at least. */
  readonly audioWindowTokens: number;
}
