// Runs in a replica: who speaks when, with two networks in the ONNX Runtime.
import path from 'node:path';
import { AsyncQueue } from '../../../base/core/async/async-queue.ts';
import { AanaError, fail } from '../../../base/core/errors.ts';
import type { Implementation, StartContext } from '../../replicas/process/implementation.ts';
import { InferenceException } from '../../replicas/process/inference-exception.ts';
import type { CallContext } from '../../rpc/index.ts';
import {
  type AudioReference,
  type KnownSpeaker,
  type SpeakerDiarizationOutput,
  SpeakerDiarizationParams,
} from '../../../base/schemas/index.ts';
import { diarize, voiceOf } from './diarize.ts';
import { MonoAudio, SAMPLE_RATE } from '../speech/mono-audio.ts';
import { Networks } from './networks.ts';
import type { Voice } from './known-voices.ts';
import { exclusiveTurns, speakerNames } from './speaker-turns.ts';

/** The configuration of a replica, made by `inference/deployments/builtin/speech/speaker-diarization-deployment.ts`. */
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
/** Most seconds of the audio of a known speaker. */
const LONGEST_KNOWN_S = 30;

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
    const knownSpeakers = (args['known_speakers'] ?? []) as readonly KnownSpeaker[];
    this.running += 1;
    try {
      const known: Voice[] = [];
      for (const [index, speaker] of knownSpeakers.entries())
        known.push(await this.#knownVoice(speaker, index, signal));
      await using audio = await MonoAudio.open(args['audio'] as AudioReference, this.#artifactPath);
      const turns = await diarize(audio, this.#networks, {
        threshold: params.threshold ?? threshold,
        minSpeakers: params.min_speakers ?? 1,
        maxSpeakers: params.max_speakers ?? Infinity,
        known,
        minDurationOn,
        minDurationOff,
        signal,
        onStep: (done) => {
          this.steps += 1;
          progress?.(done);
        },
      });
      const given = params.exclusive ? exclusiveTurns(turns) : turns;
      const names = speakerNames(
        given,
        knownSpeakers.map(({ name }) => name),
      );
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

  /** Returns the voice of a known speaker. Throws `ValidationError` for audio that is too long or has no speech. */
  async #knownVoice({ name, audio: reference }: KnownSpeaker, index: number, signal: AbortSignal): Promise<Voice> {
    await using audio = await MonoAudio.open(reference, this.#artifactPath);
    const seconds = audio.length / SAMPLE_RATE;
    if (seconds > LONGEST_KNOWN_S)
      throw wrongReference(
        index,
        `the audio of ${name} has ${seconds.toFixed(1)} s; it may have at most ${LONGEST_KNOWN_S} s`,
      );
    const voice = await voiceOf(audio, this.#networks, signal);
    if (voice.length === 0)
      throw wrongReference(index, `no voice is heard in the audio of ${name}; it needs a second or more of speech`);
    return voice;
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

function wrongReference(index: number, msg: string): AanaError {
  const loc = ['known_speakers', index, 'audio'];
  return fail('ValidationError', `known_speakers[${index}].audio: ${msg}`, {
    data: [{ type: 'value_error', loc, msg, input: null }],
  });
}
