// Runs in a replica: finds the parts of an audio in which somebody speaks, with Silero's model.
import path from 'node:path';
import type { NativeVoiceDetector } from '../../../../native/lib/index.ts';
import { fail } from '../../../base/core/errors.ts';
import type { Implementation, StartContext } from '../../replicas/process/implementation.ts';
import type { CallContext } from '../../rpc/index.ts';
import { type AudioReference, VadParams, type VadSegments } from '../../../base/schemas/index.ts';
import { channelFiles } from '../channel-files.ts';
import { openNative } from '../native.ts';
import { grouped, speechRegions } from './speech-regions.ts';
import { FRAME_S, FRAME_SAMPLES, secondsOf, voiceProbabilities } from './voice-probabilities.ts';

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
      const probabilities = await voiceProbabilities(() => this.#nextDetector(), files, this.#modelName, {
        signal,
        onPart: (fraction) => {
          this.steps += 1;
          progress?.(fraction);
        },
      });
      const regions = speechRegions(probabilities, FRAME_S, secondsOf(files), {
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

  /** Detectors take turns between the parts of calls. */
  #nextDetector(): NativeVoiceDetector {
    return this.#detectors[this.#turn++ % this.#detectors.length]!;
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
