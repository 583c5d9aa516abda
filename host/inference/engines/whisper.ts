// Runs in a replica: speech to text with whisper.cpp.
import {
  assignedGpus,
  type NativeAudio,
  type NativeGrowingAudio,
  type NativeVoiceDetector,
  type NativeWhisperEngine,
  type WhisperNativeParams,
  type WhisperNativeResult,
  type WhisperNativeSegment,
} from '../../../native/lib/index.ts';
import { AsyncQueue } from '../../base/core/async/async-queue.ts';
import type { AanaError } from '../../base/core/errors.ts';
import { fail } from '../../base/core/errors.ts';
import type { Implementation, StartContext } from '../replicas/process/implementation.ts';
import type { CallContext } from '../rpc/index.ts';
import {
  type AsrBatchOutput,
  type AsrOutput,
  type AsrSegment,
  type AsrTranscriptionInfo,
  type AudioReference,
  LiveParams,
  type LiveResult,
  LiveTurnParams,
  type LiveTurnResult,
  type VadSegment,
} from '../../base/schemas/index.ts';
import type { GrowingAudioReference } from '../../base/schemas/growing-audio.ts';
import { GpuMemoryWatch } from './gpu-memory.ts';
import { combineInfo, infoOf, mainLanguage, silence, SpokenLanguages, toOutput, toSegment } from './asr-output.ts';
import { InferenceException } from '../replicas/process/inference-exception.ts';
import { nativeFailure, openNative } from './native.ts';
import { channelFiles, growingChannels, type GrowingTrack } from './channel-files.ts';
import { type LiveEngine, transcribeLive, transcribeTurns } from './live/live-transcription.ts';
import { termsOf } from './request-terms.ts';
import { meanProgress } from './speech/mean-progress.ts';
import {
  clipsOf,
  requested,
  type RequestedTranscription,
  requestedInChunks,
  type WhisperModelFacts,
} from './speech/whisper-params.ts';

/** The configuration of a replica, made by `inference/deployments/builtin/speech/whisper-deployment.ts`. */
interface WhisperSpec {
  readonly model_path: string;
  readonly vad_model_path: string;
  /** The name in error messages, such as `whisper_base`. */
  readonly model_name: string;
  readonly model_size?: string;
  readonly threads: number;
  readonly max_states: number;
  readonly batch_size: number;
  readonly use_gpu: boolean;
}

const SAMPLES_PER_SECOND = 16_000;
/** A signal without a limit, because the host ends a replica whose warm-up makes no progress. */
const UNLIMITED = new AbortController().signal;

/** The audio of a call. The host passes the second form to the methods that `WhisperDeployment` names for it. */
type CallAudio = AudioReference | GrowingAudioReference;

/** Audio that is transcribed on its own: the mean of all channels, or one of them. */
interface Track {
  readonly audio: NativeAudio | NativeGrowingAudio;
  readonly speaker: string | null;
  /** See `GrowingTrack`. */
  readonly failure?: GrowingTrack['failure'] | undefined;
}

export async function start(spec: WhisperSpec, context: StartContext): Promise<Implementation> {
  const native = openNative(context.log);
  const gpus = new GpuMemoryWatch(native, spec.use_gpu);
  const [device] = assignedGpus();
  const engine = await native.loadWhisper({
    modelPath: spec.model_path,
    vadModelPath: spec.vad_model_path,
    useGpu: spec.use_gpu,
    ...(device !== undefined && { device }),
    threads: spec.threads,
    maxStates: spec.max_states,
    batchSize: spec.batch_size,
    ...(spec.model_size !== undefined && { modelSize: spec.model_size }),
  });
  const voiceDetector = await native.loadVoiceDetector(spec.vad_model_path);
  const whisper = new Whisper(engine, voiceDetector, spec.model_name, context);
  return {
    info: { model: spec.model_name, multilingual: engine.info.multilingual, type: engine.info.type },
    methods: {
      transcribe: (args, call) => whisper.transcribe(args, call),
      transcribe_stream: (args, call) => whisper.transcribeStream(args, call),
      transcribe_batch: (args, call) => whisper.transcribeBatch(args, call),
      transcribe_in_chunks: (args, call) => whisper.transcribeInChunks(args, call),
      transcribe_live: (args, call) => whisper.transcribeLive(args, call),
      transcribe_turns: (args, call) => whisper.transcribeTurns(args, call),
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
  /** For live streams. */
  readonly #voiceDetector: NativeVoiceDetector;
  readonly #model: WhisperModelFacts;
  readonly #modelName: string;
  readonly #files: Pick<StartContext, 'artifactPath' | 'growingPaths'>;
  #nextId = 1;

  constructor(
    engine: NativeWhisperEngine,
    voiceDetector: NativeVoiceDetector,
    modelName: string,
    files: Pick<StartContext, 'artifactPath' | 'growingPaths'>,
  ) {
    this.#files = files;
    this.#engine = engine;
    this.#voiceDetector = voiceDetector;
    this.#modelName = modelName;
    this.#model = { name: modelName, info: engine.info };
  }

  /**
   * Transcribes one second without speech: a whole pass of the model. The second is given as a part to transcribe,
   * because the engine leaves out windows in which it finds no voice.
   */
  async warmUp(): Promise<void> {
    const params = {
      language: 'en',
      beamSize: 1,
      bestOf: 1,
      temperatures: [0],
      maxNewTokens: 1,
      withoutTimestamps: true,
      wordTimestamps: false,
      vad: true,
      clips: [{ begin: 0 }],
    };
    // The engine leaves out zeros, too.
    const samples = new Float32Array(SAMPLES_PER_SECOND).fill(0.0001);
    await this.#transcribeOne(samples, params, { signal: UNLIMITED }, undefined);
  }

  async transcribe(args: Record<string, unknown>, context: CallContext): Promise<AsrOutput> {
    return await this.#transcribe(args['audio'] as CallAudio, requested(args['params'], this.#model), context);
  }

  /** Transcribes several audios at the same time. If one fails, all fail. */
  async transcribeBatch(args: Record<string, unknown>, context: CallContext): Promise<AsrBatchOutput> {
    const batch = args['audio_batch'] as readonly AudioReference[];
    const request = requested(args['params'], this.#model);
    const failed = new AbortController();
    const signal = AbortSignal.any([context.signal, failed.signal]);
    const progress = meanProgress(batch.length, context.progress);
    const outputs = await Promise.all(
      batch.map(async (audio, index) => {
        const report = progress && ((fraction: number) => progress(index, fraction));
        try {
          return await this.#transcribe(audio, request, { ...context, signal, progress: report });
        } catch (error) {
          failed.abort(error);
          throw error;
        }
      }),
    );
    return {
      segments: outputs.map(({ segments }) => segments),
      transcription_info: outputs.map(({ transcription_info: info }) => info),
      transcription: outputs.map(({ transcription }) => transcription),
    };
  }

  /**
   * Yields one value for each segment when it becomes final, one channel after the other. If the language has to be
   * detected first, the language of these values is empty, and a last value without segments has it.
   */
  transcribeStream(args: Record<string, unknown>, context: CallContext): AsyncGenerator<AsrOutput> {
    return this.#stream(args['audio'] as CallAudio, requested(args['params'], this.#model), context);
  }

  /** Like {@link transcribeStream}, for the given segments of the audio, or for those with speech. */
  transcribeInChunks(args: Record<string, unknown>, context: CallContext): AsyncGenerator<AsrOutput> {
    const segments = args['vad_segments'] as readonly VadSegment[] | null | undefined;
    const parts = {
      ...(segments && { clips: clipsOf(segments) }),
      maxWindows: args['batch_size'] as number,
    };
    const request = requestedInChunks(args['params'], parts, this.#model);
    return this.#stream(args['audio'] as CallAudio, request, context);
  }

  async #transcribe(audio: CallAudio, request: RequestedTranscription, context: CallContext): Promise<AsrOutput> {
    const tracks = await this.#tracks(audio, request);
    const segments: AsrSegment[] = [];
    const info = await this.#transcribeAll(tracks, request, context, (segment, speaker) =>
      segments.push(toSegment(segment, speaker)),
    );
    return segments.length === 0 ? silence() : toOutput(segments.sort(byTime), info);
  }

  async *#stream(audio: CallAudio, request: RequestedTranscription, context: CallContext): AsyncGenerator<AsrOutput> {
    const tracks = await this.#tracks(audio, request);
    const { knownLanguage: known } = request;
    const left = new AbortController();
    const queue = new AsyncQueue<AsrOutput>(() => left.abort());
    const info =
      known === undefined ? { language: '', language_confidence: 0 } : { language: known, language_confidence: 1 };
    let count = 0;
    const onSegment = (segment: WhisperNativeSegment, speaker: string | null): void => {
      count += 1;
      queue.push(toOutput([toSegment(segment, speaker)], mainLanguage([segment]) ?? info));
    };
    const work = async (): Promise<void> => {
      try {
        const signal = AbortSignal.any([context.signal, left.signal]);
        const found = await this.#transcribeAll(tracks, request, { ...context, signal }, onSegment);
        if (count === 0) queue.push(silence());
        else if (known === undefined) queue.push(toOutput([], found));
        queue.end();
      } catch (error) {
        queue.fail(error);
      }
    };
    void work(); // the queue passes its failure to the reader
    yield* queue;
  }

  transcribeLive({ audio, params }: Record<string, unknown>, context: CallContext): AsyncGenerator<LiveResult> {
    const live = this.#live(LiveParams.parse(params ?? {}));
    return transcribeLive(audio as AsyncIterable<unknown>, live, this.#liveEngine(context), context.signal);
  }

  transcribeTurns({ audio, params }: Record<string, unknown>, context: CallContext): AsyncGenerator<LiveTurnResult> {
    const live = this.#live(LiveTurnParams.parse(params ?? {}));
    return transcribeTurns(audio as AsyncIterable<unknown>, live, this.#liveEngine(context), context.signal);
  }

  /** Returns checked parameters with the language that needs no detection. */
  #live<Params extends LiveParams>(params: Params): Params & { readonly known: string | undefined } {
    const { language, task } = params;
    return { ...params, known: requested({ language, task }, this.#model).knownLanguage };
  }

  #liveEngine(context: CallContext): LiveEngine {
    return {
      transcribe: (samples, native) => this.#transcribeOne(samples, native, context, undefined),
      voiceDetector: this.#voiceDetector,
    };
  }

  async #tracks(audio: CallAudio, { channels: how }: RequestedTranscription): Promise<Track[]> {
    if ('growing' in audio) return growingTracks(await growingChannels(audio, this.#files.growingPaths), how);
    const files = await channelFiles(audio.channels, this.#files.artifactPath);
    const tracks =
      how === 'mix'
        ? [{ audio: files, speaker: null }]
        : files.map((file, index) => ({ audio: [file], speaker: speakerOf(index) }));
    return tracks.filter(({ audio: parts }) => parts.some(({ samples }) => samples > 0));
  }

  /**
   * Transcribes the tracks at the same time, because they share the engine's states. Returns the language of those with
   * speech. If one fails, it still waits for the others.
   */
  async #transcribeAll(
    tracks: readonly Track[],
    { native }: RequestedTranscription,
    context: CallContext,
    onSegment: (segment: WhisperNativeSegment, speaker: string | null) => void,
  ): Promise<AsrTranscriptionInfo> {
    const progress = meanProgress(tracks.length, context.progress);
    const spoken = new SpokenLanguages();
    const settled = await Promise.allSettled(
      tracks.map(async ({ audio, speaker, failure }, index): Promise<AsrTranscriptionInfo | undefined> => {
        let hasSpeech = false;
        const result = await this.#transcribeOne(
          audio,
          native,
          { ...context, progress: progress && ((fraction) => progress(index, fraction)) },
          (segment) => {
            hasSpeech = true;
            spoken.add(segment);
            onSegment(segment, speaker);
          },
        ).catch((error: unknown) => {
          throw failure?.() ?? error;
        });
        return hasSpeech ? infoOf(result) : undefined;
      }),
    );
    const infos = settled.flatMap((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value ?? [];
    });
    return spoken.main() ?? combineInfo(infos);
  }

  async #transcribeOne(
    audio: Track['audio'],
    params: WhisperNativeParams,
    context: CallContext,
    onSegment: ((segment: WhisperNativeSegment) => void) | undefined,
  ): Promise<WhisperNativeResult> {
    const { signal, progress } = context;
    signal.throwIfAborted();
    const id = this.#nextId++;
    const onAbort = (): void => this.#engine.cancelTranscription(id);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await this.#engine.transcribe(id, audio, { ...params, ...termsOf(context) }, onSegment, progress);
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
      return fail('DeadlineExceeded', `the request to ${this.#modelName} was stopped: ${message}`, { data, fault });
    if (code === 'unreadable-audio') return fail('DecodedAudioError', message);
    if (fault === 'caller')
      return fail('InvalidArguments', `${this.#modelName} cannot take the request: ${message}`, { data });
    return new InferenceException(this.#modelName, message);
  }
}

const speakerOf = (channel: number): string => `CHANNEL_${String(channel).padStart(2, '0')}`;

function growingTracks({ audio, failure }: GrowingTrack, how: RequestedTranscription['channels']): Track[] {
  if (how === 'mix') return [{ audio, failure, speaker: null }];
  return audio.files.map((_, channel) => ({ audio: { ...audio, channel }, failure, speaker: speakerOf(channel) }));
}

/** Orders segments by their start, and those of channels with the same start by the channel. */
function byTime(one: AsrSegment, other: AsrSegment): number {
  const apart = one.time_interval.start - other.time_interval.start;
  return apart === 0 ? (one.speaker ?? '').localeCompare(other.speaker ?? '') : apart;
}
