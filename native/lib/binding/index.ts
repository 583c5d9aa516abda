/** The types of the native addon's exports. Only replicas and other child processes load the addon for models. */

import type { NativeDevice, NativeDriverGpu, NativeGpuBackend } from './devices.ts';
import type { LlamaEmbeddingEvent, LlamaEmbeddingLoadOptions, NativeLlamaEmbeddingEngine } from './llama-embedding.ts';
import type { NativeLlamaEngine } from './llama-engine.ts';
import type { LlamaEvent } from './llama-events.ts';
import type { LlamaLoadOptions } from './llama-model.ts';
import type { NativeVoiceDetector, NativeWhisperEngine, WhisperLoadOptions } from './whisper.ts';

export type * from './devices.ts';
export type * from './llama-embedding.ts';
export type * from './llama-engine.ts';
export type * from './llama-events.ts';
export type * from './llama-model.ts';
export type * from './llama-prompts.ts';
export type * from './llama-sampling.ts';
export type * from './request-terms.ts';
export type * from './whisper.ts';

export interface NativeBinding {
  readonly versions: {
    readonly llama: string;
    readonly whisper: string;
    readonly ggml: string;
    readonly mode: 'prebuilt' | 'source';
  };
  /**
   * Loads ggml's backends (CPU variants, CUDA, Vulkan) from `directories`. Must be called once per process, before a
   * model is loaded. Does nothing in `source` mode.
   */
  loadBackends(directories: readonly string[]): void;
  devices(): NativeDevice[];
  /** Returns the backends for GPUs in the directories that were loaded. Empty in `source` mode. */
  gpuBackends(): NativeGpuBackend[];
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
   * Loads a model on its own thread. `onEvent` is called with each event, in order. If it throws, its request is
   * cancelled and ends with an `error` event of the code `failed`; other requests go on. `onProgress` is called with a
   * fraction from 0 to 1. Rejects with an Error that names the file and the reason: missing, truncated, not a model, or
   * not enough memory.
   */
  loadLlama(
    options: LlamaLoadOptions,
    onEvent: (event: LlamaEvent) => void,
    onProgress: (fraction: number) => void,
  ): Promise<NativeLlamaEngine>;
  /** Loads a model for embeddings or scores. Otherwise like `loadLlama`. */
  loadLlamaEmbedding(
    options: LlamaEmbeddingLoadOptions,
    onEvent: (event: LlamaEmbeddingEvent) => void,
    onProgress: (fraction: number) => void,
  ): Promise<NativeLlamaEmbeddingEngine>;
  loadWhisper(options: WhisperLoadOptions): Promise<NativeWhisperEngine>;
  /** Loads a Silero model in ggml form. Rejects with an Error that names the file. */
  loadVoiceDetector(modelPath: string): Promise<NativeVoiceDetector>;
}
