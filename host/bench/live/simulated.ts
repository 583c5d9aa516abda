// A live stream on a simulated clock, so that the time of other programs on the machine does not count.
import { setImmediate as turn } from 'node:timers/promises';
import type { NativeVoiceDetector, NativeWhisperEngine } from '../../../native/lib/index.ts';
import { type Deferred, deferred } from '../../base/core/deferred.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { type LiveEngine, transcribeLive } from '../../inference/engines/live/live-transcription.ts';
import { openNative } from '../../inference/engines/native.ts';
import type { ModelStore } from '../../setup/models/index.ts';
import { LiveParams } from '../../base/schemas/index.ts';
import type { Clip } from '../asr/clips.ts';
import { type LiveRun, MESSAGE_S } from './stream.ts';

const RATE = 16_000;
const BYTES_PER_SAMPLE = 2;
const VOICE_MODEL = 'silero-vad-v6.2.0';

/** The engine in this process. */
export class SimulatedLive {
  readonly #whisper: NativeWhisperEngine;
  readonly #voiceDetector: NativeVoiceDetector;
  readonly #slowness: number;
  #passes = 0;

  private constructor(whisper: NativeWhisperEngine, voiceDetector: NativeVoiceDetector, slowness: number) {
    this.#whisper = whisper;
    this.#voiceDetector = voiceDetector;
    this.#slowness = slowness;
  }

  /** Loads a model. A computation takes `slowness` times its CPU time, as on a slower processor. */
  static async load(models: ModelStore, size: string, threads: number, slowness: number): Promise<SimulatedLive> {
    const native = openNative(silentLogger);
    const [{ path: modelPath }, { path: vadModelPath }] = await Promise.all([
      models.pull(`whisper-${size}`),
      models.pull(VOICE_MODEL),
    ]);
    const options = { modelPath, vadModelPath, useGpu: false, threads, maxStates: 1, batchSize: 1 };
    const whisper = await native.loadWhisper(options);
    return new SimulatedLive(whisper, await native.loadVoiceDetector(vadModelPath), slowness);
  }

  /**
   * Transcribes a clip. Its parts come when their last sample would have been spoken. The clock stands still while
   * nothing is computed, and then goes on to the next part.
   */
  async transcribe({ samples }: Clip): Promise<LiveRun> {
    const clock = new SimulatedClock(this.#slowness);
    const params = { ...LiveParams.parse({ language: 'en' }), known: 'en' };
    const results = transcribeLive(spoken(samples, clock), params, this.#engine(clock), new AbortController().signal);
    const running = clock.run();
    const delays: number[] = [];
    let text = '';
    for await (const result of results) {
      if (result.type !== 'final') continue;
      delays.push(...result.words.map((word) => clock.now - word.time_interval.end));
      text += result.text;
    }
    clock.stop();
    await running;
    return { text, delays };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#whisper.close();
  }

  #engine(clock: SimulatedClock): LiveEngine {
    return {
      transcribe: (samples, params) =>
        clock.during(() => this.#whisper.transcribe((this.#passes += 1), samples, params)),
      voiceDetector: { detect: (...args) => clock.during(() => this.#voiceDetector.detect(...args)) },
    };
  }
}

async function* spoken(samples: Buffer, clock: SimulatedClock): AsyncGenerator<unknown> {
  const bytes = BYTES_PER_SAMPLE * Math.round(MESSAGE_S * RATE);
  for (let at = 0; at < samples.length; at += bytes) {
    const part = samples.subarray(at, at + bytes);
    await clock.until((at + part.length) / BYTES_PER_SAMPLE / RATE);
    yield { encoding: 's16le', data: part.toString('base64') };
  }
}

/** A clock in seconds that goes on by the CPU time of computations. */
class SimulatedClock {
  now = 0;
  readonly #slowness: number;
  #computing: Promise<void> | undefined;
  #waiter: { readonly time: number; readonly reached: Deferred<void> } | undefined;
  #isOver = false;

  constructor(slowness: number) {
    this.#slowness = slowness;
  }

  /** Waits until `time`. It has one waiter at a time. */
  async until(time: number): Promise<void> {
    if (this.now >= time) return;
    const reached = deferred<void>();
    this.#waiter = { time, reached };
    await reached.promise;
  }

  /** Lets the CPU time of this process during `compute` pass. */
  async during<Result>(compute: () => Promise<Result>): Promise<Result> {
    const done = deferred<void>();
    this.#computing = done.promise;
    const before = process.cpuUsage();
    try {
      return await compute();
    } finally {
      const { user, system } = process.cpuUsage(before);
      await this.#goTo(this.now + (this.#slowness * (user + system)) / 1e6);
      this.#computing = undefined;
      done.resolve();
    }
  }

  /** Lets the time pass in which nothing is computed, until `stop`. */
  async run(): Promise<void> {
    while (!this.#isOver) {
      await turn(); // whatever has something to compute begins to do so
      if (this.#computing) await this.#computing;
      else if (this.#waiter) await this.#goTo(this.#waiter.time);
    }
  }

  stop(): void {
    this.#isOver = true;
  }

  async #goTo(time: number): Promise<void> {
    while (this.#waiter && this.#waiter.time <= time) {
      const waiter = this.#waiter;
      this.#waiter = undefined;
      this.now = Math.max(this.now, waiter.time);
      waiter.reached.resolve();
      await turn(); // the waiter waits for its next time
    }
    this.now = Math.max(this.now, time);
  }
}
