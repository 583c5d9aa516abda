// Runs in a replica: finds the parts of an audio in which somebody speaks, with Silero's model.
import path from 'node:path';
import type { NativeAudioFile, NativeVoiceDetector } from '../../../../native/lib/index.ts';
import { fail } from '../../../base/core/errors.ts';
import type { Implementation, StartContext } from '../../replicas/process/implementation.ts';
import { InferenceException } from '../../replicas/process/inference-exception.ts';
import type { CallContext } from '../../rpc/index.ts';
import { type AudioReference, VadParams, type VadSegments } from '../../../base/schemas/index.ts';
import { channelFiles } from '../channel-files.ts';
import { nativeFailure, openNative } from '../native.ts';
import { grouped, speechRegions } from './speech-regions.ts';

/** The configuration of a replica, made by `inference/deployments/builtin/speech/vad-deployment.ts`. */
interface VadSpec {
  readonly model_path: string;
  readonly threads: number;
  readonly settings: VadSettings;
}

/** Durations are in seconds. */
interface VadSettings {
  readonly onset: number;
  readonly offset: number;
  readonly min_duration_on: number;
  readonly min_duration_off: number;
}

const SAMPLES_PER_SECOND = 16_000;
const FRAME_SAMPLES = 512;
const FRAME_S = FRAME_SAMPLES / SAMPLES_PER_SECOND;
/** A call gives its detector back after this part, so that other calls get their turn: 31 s. */
const PART_SAMPLES = FRAME_SAMPLES * 970;

export async function start(spec: VadSpec, { log, artifactPath }: StartContext): Promise<Implementation> {
  const native = openNative(log);
  const detectors: NativeVoiceDetector[] = [];
  while (detectors.length < spec.threads) detectors.push(await native.loadVoiceDetector(spec.model_path));
  const vad = new Vad(detectors, spec, artifactPath);
  return {
    info: { model: path.basename(spec.model_path) },
    methods: { asr_preprocess_vad: (args, context) => vad.segments(args, context) },
    reconfigure: async (next) => vad.reconfigure(next as VadSpec),
    warmUp: () => vad.warmUp(),
    steps: () => vad.steps,
    activity: () => ({ busy: vad.running > 0, beats: vad.steps }),
  };
}

class Vad {
  /** Parts of audio that were computed. */
  steps = 0;
  /** Calls that are computed now. */
  running = 0;
  readonly #detectors: readonly NativeVoiceDetector[];
  readonly #modelName: string;
  readonly #artifactPath: StartContext['artifactPath'];
  #settings: VadSettings;
  #turn = 0;

  constructor(detectors: readonly NativeVoiceDetector[], spec: VadSpec, artifactPath: StartContext['artifactPath']) {
    this.#detectors = detectors;
    this.#modelName = path.basename(spec.model_path, '.bin');
    this.#artifactPath = artifactPath;
    this.#settings = spec.settings;
  }

  reconfigure({ settings }: VadSpec): void {
    this.#settings = settings;
  }

  async warmUp(): Promise<void> {
    await Promise.all(
      this.#detectors.map((detector) => detector.detect(new Float32Array(FRAME_SAMPLES), 0, FRAME_SAMPLES)),
    );
    this.steps += 1;
  }

  async segments(args: Record<string, unknown>, { signal, progress }: CallContext): Promise<VadSegments> {
    const params = VadParams.parse(args['params'] ?? {});
    const { min_duration_on: minDurationOn, min_duration_off: minDurationOff } = this.#settings;
    const thresholds = this.#thresholds(params);
    this.running += 1;
    try {
      const { channels } = args['audio'] as AudioReference;
      const files = await channelFiles(channels, this.#artifactPath);
      const length = Math.max(0, ...files.map(({ samples }) => samples));
      const probabilities = await this.#probabilities(files, length, signal, progress);
      const regions = speechRegions(probabilities, FRAME_S, length / SAMPLES_PER_SECOND, {
        ...thresholds,
        ...{ minDurationOn, minDurationOff, longest: params.chunk_size },
      });
      const groups = grouped(regions, params.chunk_size).map((group) =>
        group.map(({ start: from, end }): [number, number] => [rounded(from), rounded(end)]),
      );
      return {
        segments: groups.map((group) => ({
          time_interval: { start: group[0]?.[0] ?? 0, end: group.at(-1)?.[1] ?? 0 },
          segments: group,
        })),
      };
    } finally {
      this.running -= 1;
    }
  }

  /** Returns the probability of speech for each frame. Detectors take turns between calls. */
  async #probabilities(
    files: readonly NativeAudioFile[],
    length: number,
    signal: AbortSignal,
    progress: CallContext['progress'],
  ): Promise<Float32Array> {
    const all = new Float32Array(Math.ceil(length / FRAME_SAMPLES));
    let state: Float32Array | undefined;
    for (let begin = 0; begin < length; begin += PART_SAMPLES) {
      signal.throwIfAborted();
      const part = await this.#detect(files, begin, state);
      all.set(part.probabilities, begin / FRAME_SAMPLES);
      ({ state } = part);
      this.steps += 1;
      progress?.(Math.min(1, (begin + PART_SAMPLES) / length));
    }
    return all;
  }

  async #detect(
    files: readonly NativeAudioFile[],
    begin: number,
    state: Float32Array | undefined,
  ): ReturnType<NativeVoiceDetector['detect']> {
    const detector = this.#detectors[this.#turn++ % this.#detectors.length]!;
    try {
      return await detector.detect(files, begin, PART_SAMPLES, state);
    } catch (thrown) {
      const { code, message } = nativeFailure(thrown);
      if (code === 'unreadable-audio') throw fail('DecodedAudioError', message);
      throw new InferenceException(this.#modelName, message);
    }
  }

  #thresholds({ merge_onset: mergeOnset, merge_offset: mergeOffset }: VadParams): { onset: number; offset: number } {
    const onset = mergeOnset ?? this.#settings.onset;
    const offset = mergeOffset ?? Math.min(this.#settings.offset, onset);
    if (offset <= onset) return { onset, offset };
    const msg = `it must be at most the onset, which is ${onset}`;
    throw fail('ValidationError', `params.merge_offset: ${msg}`, {
      data: [{ type: 'value_error', loc: ['params', 'merge_offset'], msg, input: offset }],
    });
  }
}

/** Times are given in milliseconds, because a frame has 32 of them. */
const rounded = (second: number): number => Math.round(second * 1000) / 1000;
