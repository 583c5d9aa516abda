// Runs in a replica: who speaks when, with two networks in the ONNX Runtime.
import path from 'node:path';
import { AsyncQueue } from '../../core/async/async-queue.ts';
import { AanaError } from '../../core/errors.ts';
import type { Implementation, StartContext } from '../../replicas/process/implementation.ts';
import { InferenceException } from '../../replicas/process/inference-exception.ts';
import type { CallContext } from '../../rpc/index.ts';
import { type AudioReference, type SpeakerDiarizationOutput, SpeakerDiarizationParams } from '../../schemas/index.ts';
import { diarize } from './diarize.ts';
import { MonoAudio } from './mono-audio.ts';
import { Networks } from './networks.ts';
import { exclusiveTurns, speakerNames } from './speaker-turns.ts';

/** The configuration of a replica, made by `deployments/builtin/speech/speaker-diarization-deployment.ts`. */
interface DiarizationSpec {
  readonly segmentation_path: string;
  readonly embedding_path: string;
  readonly runtime_path: string;
  readonly threads: number;
  readonly settings: DiarizationSettings;
}

interface DiarizationSettings {
  readonly threshold: number;
  readonly min_duration_on: number;
  readonly min_duration_off: number;
}

interface Progress {
  readonly progress: number;
  readonly segments: SpeakerDiarizationOutput['segments'] | null;
}

/** Progress is reported in steps of this size. */
const PROGRESS_STEP = 0.01;

export async function start(spec: DiarizationSpec, { artifactPath }: StartContext): Promise<Implementation> {
  const networks = await Networks.load(spec.runtime_path, spec.segmentation_path, spec.embedding_path, spec.threads);
  const diarization = new Diarization(networks, spec, artifactPath);
  return {
    info: { segmentation: path.basename(spec.segmentation_path), embedding: path.basename(spec.embedding_path) },
    methods: {
      diarize: (args, context) => diarization.diarize(args, context),
      diarize_stream: (args, context) => diarization.diarizeStream(args, context),
    },
    reconfigure: async (next) => diarization.reconfigure(next as DiarizationSpec),
    steps: () => diarization.steps,
    activity: () => ({ busy: diarization.running > 0, beats: diarization.steps }),
    close: () => networks.close(),
  };
}

class Diarization {
  /** Steps of all calls. */
  steps = 0;
  /** Calls that are computed now. */
  running = 0;
  readonly #networks: Networks;
  readonly #modelName: string;
  readonly #artifactPath: StartContext['artifactPath'];
  #settings: DiarizationSettings;

  constructor(networks: Networks, spec: DiarizationSpec, artifactPath: StartContext['artifactPath']) {
    this.#networks = networks;
    this.#modelName = path.basename(spec.segmentation_path, '.onnx');
    this.#artifactPath = artifactPath;
    this.#settings = spec.settings;
  }

  reconfigure({ settings }: DiarizationSpec): void {
    this.#settings = settings;
  }

  async diarize(
    args: Record<string, unknown>,
    { signal, progress }: Pick<CallContext, 'signal' | 'progress'>,
  ): Promise<SpeakerDiarizationOutput> {
    const params = SpeakerDiarizationParams.parse(args['params'] ?? {});
    const { threshold, min_duration_on: minDurationOn, min_duration_off: minDurationOff } = this.#settings;
    this.running += 1;
    try {
      await using audio = await MonoAudio.open(args['audio'] as AudioReference, this.#artifactPath);
      const turns = await diarize(audio, this.#networks, {
        threshold: params.threshold ?? threshold,
        minSpeakers: params.min_speakers ?? 1,
        maxSpeakers: params.max_speakers ?? Infinity,
        minDurationOn,
        minDurationOff,
        signal,
        onStep: (done) => {
          this.steps += 1;
          progress?.(done);
        },
      });
      const given = params.exclusive ? exclusiveTurns(turns) : turns;
      const names = speakerNames(given);
      return {
        segments: given.map(({ start, end, speaker }) => ({
          time_interval: { start: rounded(start), end: rounded(end) },
          speaker: names.get(speaker) ?? '',
        })),
      };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AanaError) throw error;
      throw new InferenceException(this.#modelName, error instanceof Error ? error.message : String(error), {
        cause: error,
      });
    } finally {
      this.running -= 1;
    }
  }

  async *diarizeStream(args: Record<string, unknown>, { signal, progress }: CallContext): AsyncGenerator<Progress> {
    const left = new AbortController();
    const queue = new AsyncQueue<Progress>(() => left.abort());
    let reported = 0;
    const onProgress = (done: number): void => {
      progress?.(done);
      if (done < reported + PROGRESS_STEP || done >= 1) return;
      reported = done;
      queue.push({ progress: Math.round(done * 1000) / 1000, segments: null });
    };
    const work = async (): Promise<void> => {
      try {
        const { segments } = await this.diarize(args, {
          signal: AbortSignal.any([signal, left.signal]),
          progress: onProgress,
        });
        queue.push({ progress: 1, segments });
        queue.end();
      } catch (error) {
        queue.fail(error);
      }
    };
    void work(); // the queue passes its failure to the reader
    yield* queue;
  }
}

/** Times are given in milliseconds, because a frame has 17 of them. */
const rounded = (second: number): number => Math.round(second * 1000) / 1000;
