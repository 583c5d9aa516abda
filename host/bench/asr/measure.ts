import { setTimeout as sleep } from 'node:timers/promises';
import { wordErrors, words } from '../../test/helpers/media/word-errors.ts';
import type { Figures } from '../paired-rounds.ts';
import { median, round } from '../report.ts';
import type { ServerProcess } from '../server-process.ts';
import { beginning, wavOf } from './clips.ts';
import type { Scenario } from './scenarios.ts';
import type { AsrSubject } from './subjects.ts';
import type { Transcript } from './transcripts.ts';

/** Each look takes some CPU time of the benchmark, but not of the server. */
const LOOK_AT_MEMORY_MS = 500;

export interface Heard {
  readonly figures: Figures;
  readonly texts: readonly string[];
}

/** Measures one round of a scenario. Round 0 warms up with the beginning of the recording. */
export async function hear(subject: AsrSubject, scenario: Scenario, number: number): Promise<Heard> {
  const { atOnce, language } = scenario;
  const clip = number === 0 ? beginning(scenario.clip) : scenario.clip;
  const files = Array.from({ length: atOnce }, (_, index) => wavOf(clip, number * atOnce + index));
  const watch = new MemoryWatch(subject);
  const cpuBefore = await subject.cpuMs();
  const startedAt = performance.now();
  let answers: Transcript[];
  let seconds: number;
  try {
    answers = await Promise.all(files.map((wav) => subject.transcribe(wav, language)));
    seconds = (performance.now() - startedAt) / 1000;
  } finally {
    await watch.end();
  }
  const audioSeconds = clip.seconds * atOnce;
  const figures = {
    cpuPerAudioSecond: ((await subject.cpuMs()) - cpuBefore) / 1000 / audioSeconds,
    timesRealTime: audioSeconds / seconds,
    firstTextMs: median(answers.map(({ firstMs }) => firstMs)),
    peakMemoryMb: watch.peakMb,
  };
  return { figures, texts: answers.map(({ text }) => text) };
}

/** Watches the memory of a server until `end`. */
class MemoryWatch {
  peakMb = 0;
  readonly #ended = new AbortController();
  readonly #work: Promise<void>;

  constructor(server: ServerProcess) {
    this.#work = this.#watch(server);
  }

  async end(): Promise<void> {
    this.#ended.abort();
    await this.#work;
  }

  async #watch(server: ServerProcess): Promise<void> {
    const { signal } = this.#ended;
    do {
      this.peakMb = Math.max(this.peakMb, await server.memoryMb());
      await sleep(LOOK_AT_MEMORY_MS, undefined, { signal }).catch(() => {}); // ended
    } while (!signal.aborted);
  }
}

/**
 * Returns the number of words of the texts and their word errors beside the spoken text, if it is known, and beside our
 * texts of the same recording. Rates are means over all texts.
 */
export function wordsHeard(
  texts: readonly string[],
  ours: readonly string[] | undefined,
  spoken: string | undefined,
): Figures {
  const mean = (of: (text: string, index: number) => number): number =>
    round(texts.map(of).reduce((total, one) => total + one, 0) / texts.length, 4);
  const rate = (right: string, text: string): number => wordErrors(right, text) / words(right).length;
  return {
    words: mean((text) => words(text).length),
    ...(spoken !== undefined && { wordErrorRate: mean((text) => rate(spoken, text)) }),
    ...(ours && { wordErrorRateBesideOurs: mean((text, index) => rate(ours[index] ?? '', text)) }),
  };
}
