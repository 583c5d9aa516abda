// Speech to text with a model of Transformers.js, such as Moonshine.
import type { NativeVoiceDetector } from '../../../../../native/lib/index.ts';
import type { AsrBatchOutput, AsrOutput, AsrSegment, AudioReference } from '../../../../base/schemas/index.ts';
import { InferenceException } from '../../../replicas/process/inference-exception.ts';
import type { Implementation, StartContext } from '../../../replicas/process/implementation.ts';
import type { CallContext } from '../../../rpc/index.ts';
import { silence, toOutput } from '../../asr-output.ts';
import { channelFiles } from '../../channel-files.ts';
import { openNative } from '../../native.ts';
import { MonoAudio, SAMPLE_RATE } from '../../speech/mono-audio.ts';
import { grouped, type Region, speechRegions, type VoiceRules } from '../../speech/speech-regions.ts';
import { FRAME_S, secondsOf, voiceProbabilities } from '../../speech/voice-probabilities.ts';
import type { PipelineModel } from '../pipeline-model.ts';
import { type RequestedSpeech, requestedSpeech } from './speech-params.ts';

/** The further configuration of a replica for speech. */
export interface SpeechSpec {
  readonly vad_model_path: string;
  /** Code of the language that the model hears. */
  readonly language?: string;
}

/** Rules for which the whole audio counts as speech. It is still cut at its quietest places. */
const EVERYTHING: VoiceRules = { onset: -1, offset: -1, minDurationOn: 0, minDurationOff: 0 };
/** A shorter part is filled up with silence. */
const LEAST_SAMPLES = SAMPLE_RATE;
/** Nobody speaks more tokens in a second, so more are a loop. */
const TOKENS_PER_SECOND = 6.5;
const LEAST_TOKENS = 12;

/** A signal without a limit, because the host ends a replica whose warm-up makes no progress. */
const UNLIMITED = new AbortController().signal;

/** Returns the methods of a model of speech to text. */
export async function transcription(
  model: PipelineModel,
  { vad_model_path: detectorPath, language = 'en' }: SpeechSpec,
  { log, artifactPath }: StartContext,
): Promise<Pick<Implementation, 'methods' | 'warmUp'>> {
  const detector = await openNative(log).loadVoiceDetector(detectorPath);
  const transcriber = new Transcriber(model, detector, language, artifactPath);
  return {
    // The host has checked the arguments against the schemas of the deployment's methods.
    methods: {
      transcribe: ({ audio, params }, context) => transcriber.transcribe(audio as AudioReference, params, context),
      transcribe_stream: ({ audio, params }, context) => transcriber.stream(audio as AudioReference, params, context),
      transcribe_batch: ({ audio_batch: batch, params }, context) =>
        transcriber.batch(batch as readonly AudioReference[], params, context),
    },
    warmUp: () => transcriber.warmUp(),
  };
}

class Transcriber {
  readonly #model: PipelineModel;
  readonly #detector: NativeVoiceDetector;
  readonly #language: string;
  readonly #artifactPath: StartContext['artifactPath'];

  constructor(
    model: PipelineModel,
    detector: NativeVoiceDetector,
    language: string,
    artifactPath: StartContext['artifactPath'],
  ) {
    this.#model = model;
    this.#detector = detector;
    this.#language = language;
    this.#artifactPath = artifactPath;
  }

  async warmUp(): Promise<void> {
    await this.#text(new Float32Array(LEAST_SAMPLES), UNLIMITED);
  }

  async transcribe(audio: AudioReference, params: unknown, context: CallContext): Promise<AsrOutput> {
    return await this.#whole(audio, this.#requested(params), context);
  }

  /** Transcribes one audio after the other, because the model computes one part at a time. */
  async batch(batch: readonly AudioReference[], params: unknown, context: CallContext): Promise<AsrBatchOutput> {
    const request = this.#requested(params);
    const outputs: AsrOutput[] = [];
    for (const audio of batch) {
      const progress = (fraction: number): void => context.progress?.((outputs.length + fraction) / batch.length);
      outputs.push(await this.#whole(audio, request, { ...context, progress }));
    }
    return {
      segments: outputs.map(({ segments }) => segments),
      transcription_info: outputs.map(({ transcription_info: info }) => info),
      transcription: outputs.map((output) => output.transcription),
    };
  }

  /** Yields a value for each segment. Of audio without speech it yields one without segments. */
  async *stream(audio: AudioReference, params: unknown, context: CallContext): AsyncGenerator<AsrOutput> {
    let isSilent = true;
    for await (const segment of this.#segments(audio, this.#requested(params), context)) {
      isSilent = false;
      yield this.#output([segment]);
    }
    if (isSilent) yield silence();
  }

  #requested(params: unknown): RequestedSpeech {
    return requestedSpeech(params, this.#model.name, this.#language);
  }

  async #whole(audio: AudioReference, request: RequestedSpeech, context: CallContext): Promise<AsrOutput> {
    const segments: AsrSegment[] = [];
    for await (const segment of this.#segments(audio, request, context)) segments.push(segment);
    return this.#output(segments);
  }

  #output(segments: readonly AsrSegment[]): AsrOutput {
    if (segments.length === 0) return silence();
    return toOutput(segments, { language: this.#language, language_confidence: 1 });
  }

  /** Yields a segment for each part with speech, cut at pauses or at its quietest places. */
  async *#segments(
    audio: AudioReference,
    { voice = EVERYTHING, longest }: RequestedSpeech,
    { signal, progress }: CallContext,
  ): AsyncGenerator<AsrSegment> {
    const files = await channelFiles(audio.channels, this.#artifactPath);
    const probabilities = await voiceProbabilities(() => this.#detector, files, this.#model.name, { signal });
    const regions = speechRegions(probabilities, FRAME_S, secondsOf(files), { ...voice, longest });
    const parts = grouped(regions, longest).map((group): Region => ({
      start: group[0]!.start,
      end: group.at(-1)!.end,
    }));
    await using samples = await MonoAudio.open(audio, this.#artifactPath);
    for (const [at, { start, end }] of parts.entries()) {
      const from = Math.floor(start * SAMPLE_RATE);
      const part = await samples.read(from, Math.min(samples.length, Math.ceil(end * SAMPLE_RATE)) - from);
      const text = part.some((sample) => sample !== 0) ? await this.#text(part, signal) : '';
      progress?.((at + 1) / parts.length);
      if (text !== '') yield segmentOf(` ${text}`, { start, end });
    }
  }

  async #text(part: Float32Array, signal: AbortSignal): Promise<string> {
    const samples = new Float32Array(Math.max(LEAST_SAMPLES, part.length));
    samples.set(part);
    const tokens = Math.max(LEAST_TOKENS, Math.ceil((part.length / SAMPLE_RATE) * TOKENS_PER_SECOND));
    const { result } = await this.#model.ask({ args: [samples, { max_new_tokens: tokens }] }, signal);
    const { text } = result as { readonly text?: unknown };
    if (typeof text !== 'string') throw new InferenceException(this.#model.name, 'it answers no text');
    return text.trim();
  }
}

const segmentOf = (text: string, { start, end }: Region): AsrSegment => ({
  text,
  time_interval: { start: rounded(start), end: rounded(end) },
  confidence: null,
  no_speech_confidence: null,
  words: [],
  speaker: null,
});

/** Times are given in milliseconds, because a frame has 32 of them. */
const rounded = (second: number): number => Math.round(second * 1000) / 1000;
