/**
 * Everything the native addon exports, as it exports it. Only `host/engines/` uses it, and only inside a replica
 * process.
 */

export interface NativeDevice {
  /** ggml's name, such as `CPU` or `CUDA0`. */
  readonly name: string;
  readonly description: string;
  readonly type: 'cpu' | 'gpu' | 'accelerator';
  readonly memoryFreeBytes: number;
  readonly memoryTotalBytes: number;
}

/** A GPU, or a part of one, as NVIDIA's driver gives it to this process. */
export interface NativeDriverGpu {
  /** As `CUDA_VISIBLE_DEVICES` takes it: `GPU-…`; of a part `MIG-…`. */
  readonly uuid: string;
  readonly name: string;
  readonly memoryTotalBytes: number;
}

/** Whose mistake it is that a request failed. */
export type NativeFault = 'caller' | 'deployment' | 'overload' | 'cancelled';

/** For whom a request is computed, and until when its answer is of use. */
export interface RequestTerms {
  /**
   * Tenants share an engine evenly, whatever the number and priority of their requests; requests without one are those
   * of one more tenant.
   */
  readonly tenant?: string | null;
  /** Requests of a higher priority begin before others of their tenant. Default: 0. */
  readonly priority?: number;
  /** Milliseconds from now; a request that has not ended by then fails with `deadline-exceeded`. Default: none. */
  readonly deadlineMs?: number;
}

export interface LlamaLoadOptions {
  readonly modelPath: string;
  /** Tokens that one sequence can hold, prompt and completion together. 0: what the model was trained with. */
  readonly contextTokens: number;
  /** Sequences decoded at the same time, 1 to 64. */
  readonly maxSequences: number;
  readonly threads: number;
  /** Layers to put on the GPU; −1 is all. Ignored without a GPU. */
  readonly gpuLayers: number;
  /** Names of the GPUs to use, as `devices()` has them. Default: all that this process sees. */
  readonly devices?: readonly string[];
  /** What is divided among several GPUs: nothing, layers (the default), rows of matrices, or every tensor. */
  readonly splitMode?: 'none' | 'layer' | 'row' | 'tensor';
  /** Which of the GPUs has all of it when nothing is divided. Default: 0. */
  readonly mainGpu?: number;
  /** The part of each GPU, in any unit. Default: by their free memory. */
  readonly tensorSplit?: readonly number[];
  /** Milliseconds after which a request fails whose reader takes nothing. Default: 60 000. */
  readonly readerTimeoutMs?: number;
  /** Prompt tokens decoded in one step, so that a long prompt does not hold up running sequences. */
  readonly prefillTokensPerStep: number;
  /** `f16` or `q8_0`. */
  readonly kvType: 'f16' | 'q8_0';
  /** Jinja template in place of the model's own. */
  readonly chatTemplate?: string;
}

export interface LlamaModelInfo {
  readonly description: string;
  readonly sizeBytes: number;
  readonly parameterCount: number;
  readonly trainedContextTokens: number;
  /** What one sequence can hold. */
  readonly contextTokens: number;
  readonly vocabularySize: number;
  readonly hasChatTemplate: boolean;
}

export interface LlamaSampling {
  readonly temperature: number;
  /** −1: off. */
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly repetitionPenalty: number;
  readonly seed: number;
  readonly maxTokens: number;
  readonly stop: readonly string[];
}

export type LlamaFinishReason = 'stop' | 'length' | 'cancelled';

/** One event of a request. `text` is valid UTF-8: bytes of an unfinished character are held back. */
export type LlamaEvent =
  | { readonly id: number; readonly type: 'text'; readonly text: string; readonly tokens: number }
  | {
      readonly id: number;
      readonly type: 'end';
      readonly reason: LlamaFinishReason;
      readonly promptTokens: number;
      /** Prompt tokens whose keys and values were still there from an earlier request. */
      readonly reusedTokens: number;
      readonly completionTokens: number;
    }
  | {
      readonly id: number;
      readonly type: 'error';
      readonly code: LlamaErrorCode;
      readonly fault: NativeFault;
      readonly message: string;
      readonly promptTokens: number;
      readonly maxTokens: number;
    };

/** `engine-ended`: the engine can serve no request any more. */
export type LlamaErrorCode =
  | 'prompt-too-long'
  | 'empty-prompt'
  | 'deadline-exceeded'
  | 'slow-reader'
  | 'no-room'
  | 'engine-ended'
  | 'failed';

export interface NativeLlamaEngine {
  readonly info: LlamaModelInfo;
  /**
   * Queues a request; its events come to the listener given at load, `id` is the caller's. `parseSpecial` reads control
   * tokens in the text.
   */
  submit(id: number, prompt: string, options: LlamaSampling & RequestTerms & { readonly parseSpecial: boolean }): void;
  /** Ends a request at the next step; an `end` event with reason `cancelled` follows. Unknown ids are ignored. */
  cancel(id: number): void;
  /**
   * Tells how many `text` events of a request were consumed, so that a slow reader pauses only its own sequence. One
   * that is paused for a second gives up its place to a request that waits, and goes on later; one whose reader takes
   * nothing for `readerTimeoutMs` fails.
   */
  acknowledge(id: number, events: number): void;
  /** The model's chat template over messages; ends with the start of the assistant's turn when `addAssistant`. */
  applyChatTemplate(
    messages: readonly { readonly role: string; readonly content: string }[],
    addAssistant: boolean,
  ): string;
  countTokens(text: string, parseSpecial: boolean): number;
  /**
   * Why the engine ended without being told to; empty while it works, and after `close`. All requests have failed then
   * with `engine-ended`.
   */
  readonly failure: string;
  /** Steps the decode loop has made; it grows while there is work. */
  readonly steps: number;
  /** Has requests that it can go on with; one whose readers are all behind has none. */
  readonly busy: boolean;
  /** Grows all the time while it is busy, also inside a step; one that stands still for long has hung. */
  readonly beats: number;
  /** Ends all requests and frees the model. May be called twice. */
  close(): Promise<void>;
}

export interface WhisperLoadOptions {
  readonly modelPath: string;
  /** Silero model in ggml form. */
  readonly vadModelPath: string;
  readonly useGpu: boolean;
  /** Name of the GPU to use, as `devices()` has it. Default: the first that this process sees. */
  readonly device?: string;
  /** Threads of one transcription. */
  readonly threads: number;
  /** Windows transcribed at the same time, 1 to 16: each has a state of its own over the one loaded model. */
  readonly maxStates: number;
  /** Whisper size for word times (`tiny.en`, `base`, …): picks the alignment heads. */
  readonly modelSize?: string;
}

export interface WhisperNativeParams {
  /** `auto` finds it. */
  readonly language: string;
  readonly beamSize: number;
  readonly bestOf: number;
  /** Rising; the first is used, the next ones on failure. */
  readonly temperatures: readonly number[];
  readonly withoutTimestamps: boolean;
  readonly wordTimestamps: boolean;
  /** Find speech first and transcribe only that. */
  readonly vad: boolean;
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
  /** Mean log probability of its tokens. */
  readonly averageLogProbability: number;
  readonly noSpeechProbability: number;
  readonly words: readonly WhisperNativeWord[];
}

export interface WhisperNativeResult {
  readonly segments: readonly WhisperNativeSegment[];
  /** Empty when no speech was found. */
  readonly language: string;
  readonly languageProbability: number;
}

export interface NativeWhisperEngine {
  readonly info: { readonly multilingual: boolean; readonly vocabularySize: number; readonly type: string };
  /**
   * Transcribes mono 16 kHz samples in [−1, 1]. They are copied. `id` names the request for `cancelTranscription`.
   * `onSegment` (optional) gets each segment in order as it is final. Rejects with an Error whose `code` is
   * `cancelled`, `deadline-exceeded` or `failed`, and whose `fault` is a {@link NativeFault}.
   */
  transcribe(
    id: number,
    samples: Float32Array,
    params: WhisperNativeParams & RequestTerms,
    onSegment?: (segment: WhisperNativeSegment) => void,
  ): Promise<WhisperNativeResult>;
  cancelTranscription(id: number): void;
  /** Regions of speech, in seconds. */
  detectSpeech(samples: Float32Array): Promise<readonly { readonly start: number; readonly end: number }[]>;
  /** Windows finished so far; it grows while there is work. */
  readonly steps: number;
  /** Has requests, and does nothing that may take long and cannot be followed, such as reading weights. */
  readonly busy: boolean;
  /** Grows all the time while it is busy, also inside a window; one that stands still for long has hung. */
  readonly beats: number;
  close(): Promise<void>;
}

export interface NativeBinding {
  readonly versions: {
    readonly llama: string;
    readonly whisper: string;
    readonly ggml: string;
    readonly mode: 'prebuilt' | 'source';
  };
  /**
   * Loads ggml's backends (CPU variants, CUDA) from `directories`; once per process, before any model. A no-op in
   * `source` mode.
   */
  loadBackends(directories: readonly string[]): void;
  devices(): NativeDevice[];
  /**
   * The GPUs that `CUDA_VISIBLE_DEVICES` leaves, in CUDA's order; none without NVIDIA's driver. Needs neither
   * nvidia-smi nor ggml's CUDA backend.
   */
  driverGpus(): NativeDriverGpu[];
  /** Lines that the engines log; `debug` lines are dropped before they cross into JavaScript. */
  setLogger(listener: (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void): void;
  /**
   * Loads a model on a thread of its own. `onEvents` gets all events since the last call, in order. `onProgress` gets 0
   * to 1. Rejects with an Error that names the file: missing, truncated, not a model, not enough memory.
   */
  loadLlama(
    options: LlamaLoadOptions,
    onEvents: (events: LlamaEvent[]) => void,
    onProgress: (fraction: number) => void,
  ): Promise<NativeLlamaEngine>;
  loadWhisper(options: WhisperLoadOptions): Promise<NativeWhisperEngine>;
}
