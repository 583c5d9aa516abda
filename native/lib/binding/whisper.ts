import type { RequestTerms } from './request-terms.ts';

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

/** How regions of speech are found in the probabilities of a voice, and cut into windows. */
export interface WhisperSpeechRules {
  /** Speech begins at this probability. Default: 0.5. */
  readonly threshold?: number;
  /** Speech ends where the probability stays below this for `minSilenceS`. Default: 0.35. */
  readonly negThreshold?: number;
  /** Shorter speech is left out. 0 to 60 s, as the next two. Default: 0.25. */
  readonly minSpeechS?: number;
  /** Default: 0.1. */
  readonly minSilenceS?: number;
  /** Audio before and after the speech that belongs to it. Default: 0.2. */
  readonly padS?: number;
  /** Longer speech is cut at its quietest places. At least 1. Default: 30. */
  readonly maxSpeechS?: number;
  /** Longest window, 1 to 30. Default: 30. */
  readonly maxWindowS?: number;
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
  /** A window that is surer of its language decides that of the audio. Default: 0.5. */
  readonly languageDetectionThreshold?: number;
  /** Most windows that are asked for their language; if none is sure, most of them decide. Default: 1. */
  readonly languageDetectionSegments?: number;
  /** Whether the result has the probabilities of all languages. Default: false. */
  readonly allLanguageProbs?: boolean;
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
  /**
   * A text whose tokens have a lower mean log-probability is unlikely, except in a window without speech. Default: −1.
   */
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
  /**
   * Seconds of silence around text that is probably invented, which is then left out: its words are very short, very
   * long or improbable. Needs `wordTimestamps`.
   */
  readonly hallucinationSilenceThreshold?: number;
  /** Whether segments have their tokens. Default: false. */
  readonly logprobs?: boolean;
  /** Characters that are joined to the next word. */
  readonly prependPunctuations?: string;
  /** Characters that are joined to the previous word. */
  readonly appendPunctuations?: string;
  /** Whether to transcribe only the parts with speech. Otherwise windows without any voice are left out. */
  readonly vad: boolean;
  /** How speech is found and cut. */
  readonly speech?: WhisperSpeechRules;
  /**
   * The parts to transcribe, in samples, instead of those with speech (`vad` must be true). A part that is longer than
   * a window is cut at quiet places. A part after the end of the audio is left out. A part without an end goes on to
   * that of the audio.
   */
  readonly clips?: readonly { readonly begin: number; readonly end?: number }[];
  /** Most windows of this request that are transcribed at the same time. Default: as many as there are states. */
  readonly maxWindows?: number;
}

export interface WhisperNativeWord {
  readonly word: string;
  readonly start: number;
  readonly end: number;
  readonly probability: number;
}

/** A token of a text, with the logarithm of its probability among all tokens that could follow. */
export interface WhisperNativeToken {
  readonly id: number;
  /** Of the text; may be a part of a character. */
  readonly bytes: Uint8Array;
  readonly logprob: number;
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
  /** The tokens of the text without those of times. Absent unless `logprobs` is true. */
  readonly tokens?: readonly WhisperNativeToken[];
  /** Of its window, and its probability. Absent unless `multilingual` is true. */
  readonly language?: string;
  readonly languageProbability?: number;
}

export interface WhisperNativeResult {
  /** Empty if the call had `onSegment`, which got them. */
  readonly segments: readonly WhisperNativeSegment[];
  /** Empty if no speech was found. */
  readonly language: string;
  readonly languageProbability: number;
  /**
   * Of the window that decided the language, the likeliest first. Absent unless `allLanguageProbs` is true and the
   * language was detected.
   */
  readonly allLanguageProbs?: readonly { readonly language: string; readonly probability: number }[];
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
 * Files that a program still writes at their ends. The result is that of the complete files. Rejects with the code
 * `unreadable-audio` when a file is removed before there is an end.
 */
export interface NativeGrowingAudio {
  /** Not empty. `samples` is not used. */
  readonly files: readonly NativeAudioFile[];
  /** The place of the only file that is used. Default: all are used. */
  readonly channel?: number;
  /**
   * A file that appears, complete, after the last sample of all files: the number of samples of each file, in decimal
   * digits with spaces between.
   */
  readonly endPath: string;
  /** Samples that the longest file is expected to have, for the progress. */
  readonly expectedSamples: number;
}

/**
 * Samples in [−1, 1], mono, 16 kHz, which are copied. Or files whose mean is transcribed; a shorter file is silent
 * after its end. Files are read in small parts while the engine needs them. NaN and infinities count as 0.
 */
export type NativeAudio = Float32Array | readonly NativeAudioFile[];

export interface NativeWhisperEngine {
  readonly info: { readonly multilingual: boolean; readonly vocabularySize: number; readonly type: string };
  /**
   * Transcribes an audio. `id` identifies the request for `cancelTranscription`. `onSegment` is called with each
   * segment, in order, when it is final. `onProgress` is called with the fraction of the audio that is done, from 0 to
   * 1, after each percent. Rejects with an Error whose `code` is `cancelled`, `deadline-exceeded`, `unreadable-audio`
   * or `failed`, and whose `fault` is a {@link NativeFault}.
   */
  transcribe(
    id: number,
    audio: NativeAudio | NativeGrowingAudio,
    params: WhisperNativeParams & RequestTerms,
    onSegment?: (segment: WhisperNativeSegment) => void,
    onProgress?: (fraction: number) => void,
  ): Promise<WhisperNativeResult>;
  cancelTranscription(id: number): void;
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
