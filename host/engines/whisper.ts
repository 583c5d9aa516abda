// Runs in a replica: speech to text with whisper.cpp.
import {
  assignedGpus,
  type NativeAudio,
  type NativeWhisperEngine,
  type WhisperNativeParams,
  type WhisperNativeResult,
  type WhisperNativeSegment,
} from '../../native/lib/index.ts';
import { AsyncQueue } from '../core/async/async-queue.ts';
import { AanaError } from '../core/errors.ts';
import type { Implementation, StartContext } from '../replicas/process/implementation.ts';
import type { CallContext } from '../rpc/index.ts';
import { type AsrOutput, type AudioReference, WhisperParams } from '../schemas/index.ts';
import { GpuMemoryWatch } from './gpu-memory.ts';
import { combineInfo, infoOf, silence, toOutput, toSegment } from './asr-output.ts';
import { InferenceException } from '../replicas/process/inference-exception.ts';
import { nativeFailure, openNative } from './native.ts';
import { channelFiles } from './channel-files.ts';
import { termsOf } from './request-terms.ts';
import { WHISPER_LANGUAGES } from './whisper-languages.ts';

/** The configuration of a replica, made by `deployments/builtin/whisper-deployment.ts`. */
interface WhisperSpec {
  readonly model_path: string;
  readonly vad_model_path: string;
  /** The name in error messages, such as `whisper_base`. */
  readonly model_name: string;
  readonly model_size?: string;
  readonly threads: number;
  readonly max_states: number;
  readonly use_gpu: boolean;
}

const SAMPLES_PER_SECOND = 16_000;
/** A signal without a limit, because the host ends a replica whose warm-up makes no progress. */
const UNLIMITED = new AbortController().signal;

/** Audio that is transcribed on its own: the mean of all channels, or one of them. */
interface Track {
  readonly audio: NativeAudio;
  readonly speaker: string | null;
}

interface Transcription {
  readonly result: WhisperNativeResult;
  readonly speaker: string | null;
}

export async function start(spec: WhisperSpec, { log, artifactPath }: StartContext): Promise<Implementation> {
  const native = openNative(log);
  const gpus = new GpuMemoryWatch(native, spec.use_gpu);
  const [device] = assignedGpus();
  const engine = await native.loadWhisper({
    modelPath: spec.model_path,
    vadModelPath: spec.vad_model_path,
    useGpu: spec.use_gpu,
    ...(device !== undefined && { device }),
    threads: spec.threads,
    maxStates: spec.max_states,
    ...(spec.model_size !== undefined && { modelSize: spec.model_size }),
  });
  const whisper = new Whisper(engine, spec.model_name, artifactPath);
  return {
    info: { model: spec.model_name, multilingual: engine.info.multilingual, type: engine.info.type },
    methods: {
      transcribe: (args, context) => whisper.transcribe(args, context),
      transcribe_stream: (args, context) => whisper.transcribeStream(args, context),
    },
    warmUp: () => whisper.warmUp(),
    gpuMemory: () => gpus.read(),
    steps: () => engine.steps,
    activity: () => ({ busy: engine.busy, beats: engine.beats }),
    close: () => engine.close(),
  };
}

class Whisper {
  readonly #engine: NativeWhisperEngine;
  readonly #modelName: string;
  readonly #artifactPath: StartContext['artifactPath'];
  #nextId = 1;

  constructor(engine: NativeWhisperEngine, modelName: string, artifactPath: StartContext['artifactPath']) {
    this.#artifactPath = artifactPath;
    this.#engine = engine;
    this.#modelName = modelName;
  }

  /**
   * Transcribes one second without speech: a whole pass of the model without any text. The samples are not 0, because
   * the engine leaves zeros out.
   */
  async warmUp(): Promise<void> {
    const params = {
      language: 'en',
      beamSize: 1,
      bestOf: 1,
      temperatures: [0],
      withoutTimestamps: true,
      wordTimestamps: false,
      vad: false,
    };
    const samples = new Float32Array(SAMPLES_PER_SECOND).fill(0.0001);
    await this.#transcribeOne(samples, params, { signal: UNLIMITED }, undefined);
  }

  async transcribe(args: Record<string, unknown>, context: CallContext): Promise<AsrOutput> {
    const params = this.#params(args);
    const tracks = await this.#tracks(args, params);
    const transcriptions = await this.#transcribeAll(tracks, params, context);
    const segments = transcriptions
      .flatMap(({ result, speaker }) => result.segments.map((segment) => toSegment(segment, speaker)))
      .sort((a, b) => a.time_interval.start - b.time_interval.start);
    return segments.length === 0 ? silence() : toOutput(segments, languageOf(transcriptions));
  }

  /**
   * Yields one value for each segment when it becomes final, one channel after the other. If the language has to be
   * detected first, the language of these values is empty, and a last value without segments has it.
   */
  async *transcribeStream(args: Record<string, unknown>, context: CallContext): AsyncGenerator<AsrOutput> {
    const params = this.#params(args);
    const tracks = await this.#tracks(args, params);
    const known = this.#knownLanguage(params);
    const left = new AbortController();
    const queue = new AsyncQueue<AsrOutput>(() => left.abort());
    const info =
      known === undefined ? { language: '', language_confidence: 0 } : { language: known, language_confidence: 1 };
    let count = 0;
    const onSegment = (segment: WhisperNativeSegment, speaker: string | null): void => {
      count += 1;
      queue.push(toOutput([toSegment(segment, speaker)], info));
    };
    const work = async (): Promise<void> => {
      try {
        const transcriptions = await this.#transcribeAll(
          tracks,
          params,
          { ...context, signal: AbortSignal.any([context.signal, left.signal]) },
          onSegment,
        );
        if (count === 0) queue.push(silence());
        else if (known === undefined) queue.push(toOutput([], languageOf(transcriptions)));
        queue.end();
      } catch (error) {
        queue.fail(error);
      }
    };
    void work(); // the queue passes its failure to the reader
    yield* queue;
  }

  #params(args: Record<string, unknown>): WhisperParams {
    const params = WhisperParams.parse(args['params'] ?? {});
    const { language } = params;
    if (language != null && !WHISPER_LANGUAGES.has(language)) {
      const problem = `"${language}" is not a language code that Whisper knows; leave it out to detect the language from the speech`;
      throw invalidParam('language', language, problem);
    }
    if (params.task === 'translate' && !this.#engine.info.multilingual) {
      const problem = `the model ${this.#modelName} knows only English, so it cannot translate; deploy a multilingual size`;
      throw invalidParam('task', params.task, problem);
    }
    return params;
  }

  async #tracks(args: Record<string, unknown>, { channels: how }: WhisperParams): Promise<Track[]> {
    const { channels } = args['audio'] as AudioReference;
    const files = await channelFiles(channels, this.#artifactPath);
    const tracks =
      how === 'mix'
        ? [{ audio: files, speaker: null }]
        : files.map((file, index) => ({ audio: [file], speaker: `CHANNEL_${String(index).padStart(2, '0')}` }));
    return tracks.filter(({ audio }) => audio.some(({ samples }) => samples > 0));
  }

  /**
   * Transcribes the tracks at the same time, because they share the engine's states. If one fails, it still waits for
   * the others.
   */
  async #transcribeAll(
    tracks: readonly Track[],
    params: WhisperParams,
    context: CallContext,
    onSegment?: (segment: WhisperNativeSegment, speaker: string | null) => void,
  ): Promise<Transcription[]> {
    const native = this.#nativeParams(params);
    const settled = await Promise.allSettled(
      tracks.map(async ({ audio, speaker }): Promise<Transcription> => {
        const result = await this.#transcribeOne(
          audio,
          native,
          context,
          onSegment && ((segment) => onSegment(segment, speaker)),
        );
        return { result, speaker };
      }),
    );
    return settled.map((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value;
    });
  }

  async #transcribeOne(
    audio: NativeAudio,
    params: WhisperNativeParams,
    context: CallContext,
    onSegment: ((segment: WhisperNativeSegment) => void) | undefined,
  ): Promise<WhisperNativeResult> {
    const { signal } = context;
    signal.throwIfAborted();
    const id = this.#nextId++;
    const onAbort = (): void => this.#engine.cancelTranscription(id);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await this.#engine.transcribe(id, audio, { ...params, ...termsOf(context) }, onSegment);
    } catch (error) {
      signal.throwIfAborted();
      throw this.#failure(error);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #failure(thrown: unknown): AanaError {
    const { code, fault, message } = nativeFailure(thrown);
    const data = { model_name: this.#modelName };
    if (code === 'deadline-exceeded')
      return new AanaError(
        'DeadlineExceeded',
        'deadline-exceeded',
        `the request to ${this.#modelName} was stopped: ${message}`,
        { data, fault },
      );
    if (code === 'unreadable-audio') return new AanaError('AudioReadingException', 'internal', message);
    if (fault === 'caller')
      return new AanaError(
        'InvalidArguments',
        'invalid-input',
        `${this.#modelName} cannot take the request: ${message}`,
        { data },
      );
    return new InferenceException(this.#modelName, message);
  }

  #nativeParams(params: WhisperParams): WhisperNativeParams {
    const optional = {
      initialPrompt: params.initial_prompt,
      logProbThreshold: params.log_prob_threshold,
      noSpeechThreshold: params.no_speech_threshold,
      lengthPenalty: params.length_penalty,
      maxInitialTimestamp: params.max_initial_timestamp,
    };
    return {
      language: this.#knownLanguage(params) ?? 'auto',
      translate: params.task === 'translate',
      beamSize: params.beam_size,
      bestOf: params.best_of,
      temperatures: [params.temperature].flat(),
      ...withoutNulls(optional),
      withoutTimestamps: params.without_timestamps,
      wordTimestamps: params.word_timestamps,
      vad: params.vad_filter,
    };
  }

  /** Returns the language if it needs no detection. A model for English always transcribes English. */
  #knownLanguage({ language }: WhisperParams): string | undefined {
    return this.#engine.info.multilingual ? (language ?? undefined) : 'en';
  }
}

function invalidParam(name: string, input: unknown, msg: string): AanaError {
  const entry = { type: 'value_error', loc: ['params', name], msg, input };
  return new AanaError('ValidationError', 'invalid-input', `params.${name}: ${msg}`, { data: [entry] });
}

/** Returns the values that are there. */
function withoutNulls<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value != null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}

/** Returns the language of the channels that have speech. */
function languageOf(transcriptions: readonly Transcription[]): AsrOutput['transcription_info'] {
  return combineInfo(
    transcriptions.filter(({ result }) => result.segments.length > 0).map(({ result }) => infoOf(result)),
  );
}
