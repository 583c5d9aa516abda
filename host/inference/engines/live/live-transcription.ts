import type { NativeVoiceDetector, WhisperNativeParams, WhisperNativeResult } from '../../../../native/lib/index.ts';
import type {
  AsrTranscriptionInfo,
  LiveParams,
  LiveResult,
  LiveTurnParams,
  LiveTurnResult,
} from '../../../base/schemas/index.ts';
import { infoOf } from '../asr-output.ts';
import type { Region } from '../speech/speech-regions.ts';
import { AudioIntake } from './audio-intake.ts';
import { samplesOf } from './audio-samples.ts';
import { AudioWindow } from './audio-window.ts';
import { DETECTION_S, SpeechTracker } from './speech-tracker.ts';
import { trimPoint, WINDOW_LENGTHS } from './trim-point.ts';
import { withoutLoops } from './without-loops.ts';
import { type HeardWord, WordAgreement } from './word-agreement.ts';

/** What a live transcription needs of the engine. */
export interface LiveEngine {
  transcribe(samples: Float32Array, params: WhisperNativeParams): Promise<WhisperNativeResult>;
  readonly voiceDetector: NativeVoiceDetector;
}

const RATE = 16_000;
/** New audio that a pass waits for. */
const STEP_S = 0.5;
/** Pauses are looked for after each part of this length. */
const PART = 0.1 * RATE;
/** Most audio that is taken at once. */
const LONGEST_STEP_S = 5;
/** Audio that may wait for the engine before the sender is slowed down. */
const WAITING_S = 10;
/** Silence that confirms the words before it. */
const PAUSE_S = 0.5;
/** Silence after which a pass hears the words before it, which are probably complete. */
const QUIET_S = 0.3;
const LONG_PAUSE_S = 2;
/** Speech after a likely word that makes a second pass over the word unnecessary. */
const SETTLED_S = 1;
/** Audio that is heard before and after speech, because its edges are found late. */
const MARGIN_S = 0.4;
/** A pass over less audio hears nothing. */
const SHORTEST_PASS_S = 0.3;
/** Frames of 20 ms that the encoder computes after the audio. With fewer, the model repeats itself. */
const FRAMES_AFTER = 256;
const FRAMES_PER_SECOND = 50;
const MOST_FRAMES = 1500;
/**
 * Most tokens of a pass, so that one that repeats itself ends soon. Nobody speaks English that fast. Other languages
 * have more tokens for a word.
 */
const LEAST_TOKENS = 16;
const TOKENS_PER_SECOND = { en: 10, other: 25 } as const;

/** Parameters of a stream. `known` is the language if it needs no detection. */
type StreamParams<Params> = Params & { readonly known: string | undefined };

/**
 * Transcribes speech while it comes. Yields partials and finals. An unknown language is the one that was detected when
 * the first words were confirmed. Throws `ValidationError` for parts of `audio` that are not {@link EncodedAudio}.
 */
export async function* transcribeLive(
  audio: AsyncIterable<unknown>,
  params: StreamParams<LiveParams>,
  engine: LiveEngine,
  signal: AbortSignal,
): AsyncGenerator<LiveResult, void, undefined> {
  const stream = new LiveStream(params, engine, { pauseS: PAUSE_S, dropS: LONG_PAUSE_S, prefixS: MARGIN_S });
  yield* withoutTurns(heard(stream, audio, signal));
}

/**
 * Like {@link transcribeLive}, in turns: the words of a turn come between its `speech_started` and its
 * `speech_stopped`. The speech of a turn is heard without that of the turns before it.
 */
export async function* transcribeTurns(
  audio: AsyncIterable<unknown>,
  { silence_s: silenceS, prefix_s: prefixS, threshold, ...params }: StreamParams<LiveTurnParams>,
  engine: LiveEngine,
  signal: AbortSignal,
): AsyncGenerator<LiveTurnResult, void, undefined> {
  const stream = new LiveStream(params, engine, { pauseS: silenceS, dropS: silenceS, prefixS, threshold });
  yield* heard(stream, audio, signal);
}

async function* heard(
  stream: LiveStream,
  audio: AsyncIterable<unknown>,
  signal: AbortSignal,
): AsyncGenerator<LiveTurnResult> {
  for await (const samples of arriving(audio, signal))
    for (let at = 0; at < samples.length; at += PART) {
      // A pause is found even if the audio after it has arrived already.
      yield* stream.add(samples.subarray(at, at + PART), { isNewest: at + PART >= samples.length });
      signal.throwIfAborted();
    }
  yield* stream.end();
}

async function* withoutTurns(results: AsyncIterable<LiveTurnResult>): AsyncGenerator<LiveResult> {
  for await (const result of results) if ('text' in result) yield result;
}

/** Yields the audio that has arrived. */
async function* arriving(audio: AsyncIterable<unknown>, signal: AbortSignal): AsyncGenerator<Float32Array> {
  const intake = new AudioIntake(WAITING_S * RATE);
  void intake.follow(decoded(audio)); // `read` throws what it meets
  try {
    for (;;) {
      const samples = await intake.read(PART, LONGEST_STEP_S * RATE, signal);
      if (!samples) return;
      yield samples;
    }
  } finally {
    intake.close();
  }
}

async function* decoded(audio: AsyncIterable<unknown>): AsyncGenerator<Float32Array> {
  for await (const part of audio) yield samplesOf(part);
}

/** How a stream finds speech and pauses. */
interface SpeechLimits {
  /** Silence that confirms the words before it, and ends a turn, in seconds. */
  readonly pauseS: number;
  /** Seconds of silence after which the speech before it is dropped, because it no longer helps with what follows. */
  readonly dropS: number;
  /** Seconds before speech that are heard with it. */
  readonly prefixS: number;
  /** Probability of a voice above which speech begins. Default: that of the detector. */
  readonly threshold?: number;
}

class LiveStream {
  readonly #engine: LiveEngine;
  readonly #params: LiveParams;
  readonly #limits: SpeechLimits;
  readonly #window = new AudioWindow(RATE);
  readonly #speechTracker: SpeechTracker;
  readonly #agreement = new WordAgreement();
  #info: AsrTranscriptionInfo;
  #isLanguageKnown: boolean;
  /** Time up to which the last pass has heard the stream. */
  #heardUntil = 0;
  #shown = '';
  #isSpeaking = false;

  constructor({ known, ...params }: StreamParams<LiveParams>, engine: LiveEngine, limits: SpeechLimits) {
    this.#engine = engine;
    this.#speechTracker = new SpeechTracker(engine.voiceDetector, limits.threshold);
    this.#params = params;
    this.#limits = limits;
    this.#isLanguageKnown = known !== undefined;
    this.#info = { language: known ?? '', language_confidence: known === undefined ? 0 : 1 };
  }

  /** Takes new audio. Audio that is not the newest is heard with the audio after it, unless a pause ends it. */
  async *add(samples: Float32Array, { isNewest = true } = {}): AsyncGenerator<LiveTurnResult> {
    const { pauseS: leastS, dropS, prefixS } = this.#limits;
    this.#window.append(samples);
    await this.#speechTracker.add(samples);
    const speech = this.#speech();
    const pauseS = speech ? this.#window.end - speech.end : Infinity;
    const isPause = pauseS >= leastS;
    if (speech) {
      yield* this.#begin(speech.start);
      const isQuiet = isPause || (isNewest && pauseS >= QUIET_S);
      if (isQuiet || (isNewest && this.#window.end - this.#heardUntil >= STEP_S)) yield* this.#hear(speech, isQuiet);
    }
    if (isPause) {
      yield* this.#final(this.#agreement.confirm());
      yield* this.#stop(speech ? speech.end + leastS : this.#window.end);
      const isLong = this.#window.end - this.#window.start > WINDOW_LENGTHS.comfortableS;
      if (isLong || pauseS >= dropS)
        this.#dropBefore(Math.max(speech?.end ?? 0, this.#window.end - prefixS - DETECTION_S));
    } else yield* this.#trim();
    yield* this.#partial();
  }

  async *end(): AsyncGenerator<LiveTurnResult> {
    const speech = this.#speech();
    if (speech) {
      yield* this.#begin(speech.start);
      yield* this.#hear(speech, true);
    }
    yield* this.#final(this.#agreement.confirm());
    yield* this.#stop(this.#window.end);
    yield* this.#partial();
  }

  *#begin(speechStart: number): Generator<LiveTurnResult> {
    if (this.#isSpeaking) return;
    this.#isSpeaking = true;
    yield { type: 'speech_started', at: Math.max(this.#window.start, speechStart - this.#limits.prefixS) };
  }

  *#stop(at: number): Generator<LiveTurnResult> {
    if (!this.#isSpeaking) return;
    this.#isSpeaking = false;
    yield { type: 'speech_stopped', at };
  }

  /** Returns where speech begins and ends in the window; undefined for silence. */
  #speech(): Region | undefined {
    const { start, end } = this.#window;
    return end - start < SHORTEST_PASS_S ? undefined : this.#speechTracker.speechAfter(start);
  }

  /** Makes a pass over the speech, unless the last pass has heard all of it. */
  async *#hear(speech: Region, isEnd: boolean): AsyncGenerator<LiveResult> {
    if (isEnd && this.#heardUntil >= speech.end + MARGIN_S / 2) return;
    const from = Math.max(this.#window.start, speech.start - this.#limits.prefixS);
    const to = Math.min(this.#window.end, isEnd ? speech.end + MARGIN_S : this.#window.end);
    this.#heardUntil = to;
    const samples = this.#window.between(from, to);
    if (samples.length < SHORTEST_PASS_S * RATE) return;
    const result = await this.#engine.transcribe(samples, this.#nativeParams(samples.length / RATE));
    if (!this.#isLanguageKnown && result.language !== '') this.#info = infoOf(result);
    yield* this.#final(this.#agreement.hear(withoutLoops(wordsOf(result, from)), to - SETTLED_S));
  }

  *#trim(): Generator<LiveResult> {
    const { start, end } = this.#window;
    const { confirmed, pending } = this.#agreement;
    const trim = trimPoint({ start, end, confirmed, pending });
    if (!trim) return;
    yield* this.#final(this.#agreement.confirm(trim.confirmed));
    this.#dropBefore(trim.at);
  }

  #dropBefore(time: number): void {
    this.#window.dropBefore(time);
    this.#agreement.forgetBefore(this.#window.start);
  }

  *#final(words: readonly HeardWord[]): Generator<LiveResult> {
    if (words.length === 0) return;
    this.#isLanguageKnown = true;
    const result = this.#result('final', words);
    this.#shown = '';
    yield result;
  }

  /** Yields the pending words, if they differ from the last partial. */
  *#partial(): Generator<LiveResult> {
    const result = this.#result('partial', this.#agreement.pending);
    if (result.text === this.#shown) return;
    this.#shown = result.text;
    yield result;
  }

  #result(type: LiveResult['type'], words: readonly HeardWord[]): LiveResult {
    const [first] = words;
    const last = words.at(-1);
    return {
      type,
      text: words.map(({ word }) => word).join(''),
      words: words.map(({ word, start, end, probability }) => ({
        word,
        speaker: null,
        time_interval: { start, end },
        alignment_confidence: Math.min(1, Math.max(0, probability)),
      })),
      time_interval: first && last ? { start: first.start, end: last.end } : null,
      ...this.#info,
    };
  }

  #nativeParams(seconds: number): WhisperNativeParams {
    const { task, beam_size: beamSize, initial_prompt: initialPrompt } = this.#params;
    const frames = Math.ceil(Math.min(seconds, WINDOW_LENGTHS.longestS + LONGEST_STEP_S) * FRAMES_PER_SECOND);
    const language = this.#info.language !== '' && this.#isLanguageKnown ? this.#info.language : 'auto';
    const tokensPerSecond = TOKENS_PER_SECOND[language === 'en' ? 'en' : 'other'];
    return {
      language,
      translate: task === 'translate',
      beamSize,
      bestOf: 1,
      temperatures: [0],
      maxNewTokens: LEAST_TOKENS + Math.ceil(seconds * tokensPerSecond),
      ...(initialPrompt != null && { initialPrompt }),
      audioContext: Math.min(MOST_FRAMES, frames + FRAMES_AFTER),
      withoutTimestamps: false,
      wordTimestamps: true,
      vad: true,
      clips: [{ begin: 0 }], // the speech is known
    };
  }
}

function wordsOf({ segments }: WhisperNativeResult, from: number): HeardWord[] {
  return segments
    .flatMap(({ words }) => words)
    .map((word) => ({ ...word, start: word.start + from, end: word.end + from }));
}
