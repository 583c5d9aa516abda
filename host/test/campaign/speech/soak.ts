// Many transcriptions and live streams, of which callers leave at random moments, on one replica.
import { setTimeout as sleep } from 'node:timers/promises';
import type { DeploymentHandle, DeploymentManager } from '../../../inference/deployments/index.ts';
import { readWav } from '../../../inference/engines/fixtures/cannot-run.ts';
import { deployed, SampleFiles } from '../../../inference/engines/fixtures/real-models.ts';
import { AsrOutput, type AudioReference, LiveResult } from '../../../base/schemas/index.ts';
import { SAMPLE_TEXT, speechPath } from '../../helpers/media/media.ts';
import { wordErrors } from '../../helpers/media/word-errors.ts';
import { Random } from '../../simulation/random.ts';
import { replicaPid, residentBytes } from './replica-memory.ts';

export interface SoakReport {
  /** Requests that were answered to their end, and those that their caller left. */
  readonly answered: number;
  readonly left: number;
  /** Answers that are not as they should be, and errors. */
  readonly problems: readonly string[];
  /** Bytes of the replica that are in memory: before the requests, and after each tenth of them. */
  readonly residentBytes: readonly number[];
}

const MOST_OPEN = 6;
/** Words of the speech sample that may be wrong, also where passes of a live stream were few. */
const MOST_ERRORS = 4;
/** A caller that leaves does so within this time. */
const LONGEST_STAY_MS = 1500;
const LIVE_PART = 8000;
/** The options with which a request needs most memory. */
const LARGEST = { beam_size: 5, word_timestamps: true, logprobs: true };

/** Sends `count` requests to one replica. Half of the callers leave before the end. */
export async function soakSpeech(count: number, seed: number): Promise<SoakReport> {
  const manager = deployed({ type: 'WhisperDeployment', user_config: { model_size: 'tiny.en', threads: 1 } });
  const files = new SampleFiles();
  try {
    await manager.start();
    return await new Soak(manager, files, new Random(seed)).run(count);
  } finally {
    await manager.shutdown({ graceMs: 0 });
    await files.remove();
  }
}

class Soak {
  readonly #manager: DeploymentManager;
  readonly #asr: DeploymentHandle;
  readonly #files: SampleFiles;
  readonly #random: Random;
  readonly #problems: string[] = [];
  #answered = 0;
  #left = 0;

  constructor(manager: DeploymentManager, files: SampleFiles, random: Random) {
    this.#manager = manager;
    this.#asr = manager.handle('model');
    this.#files = files;
    this.#random = random;
  }

  async run(count: number): Promise<SoakReport> {
    const [speech = new Float32Array(0)] = await readWav(speechPath());
    const audio = await this.#files.write(speech);
    const pid = replicaPid(this.#manager);
    // Memory grows until this number of requests of each kind runs at the same time. Later requests use it again.
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: MOST_OPEN }, () => this.#live(speech, signal)));
    await Promise.all(Array.from({ length: MOST_OPEN }, () => this.#transcribed(audio, LARGEST, signal)));
    const resident = [await residentBytes(pid)];
    const open = new Set<Promise<void>>();
    for (let number = 1; number <= count; number += 1) {
      const request = this.#request(number, speech, audio).finally(() => open.delete(request));
      open.add(request);
      if (open.size >= MOST_OPEN) await Promise.race(open);
      if (number % Math.ceil(count / 10) === 0) resident.push(await residentBytes(pid));
    }
    await Promise.all(open);
    await this.#checkReplica(pid, audio);
    return { answered: this.#answered, left: this.#left, problems: this.#problems, residentBytes: resident };
  }

  async #request(number: number, speech: Float32Array, audio: AudioReference): Promise<void> {
    const controller = new AbortController();
    const [leaves, stayMs] = [this.#random.chance(0.5), this.#random.int(0, LONGEST_STAY_MS)];
    const isLive = this.#random.chance(0.3);
    const params = this.#params();
    if (leaves) void sleep(stayMs).then(() => controller.abort());
    try {
      const text = isLive
        ? await this.#live(speech, controller.signal)
        : await this.#transcribed(audio, params, controller.signal);
      this.#answered += 1;
      const errors = wordErrors(SAMPLE_TEXT, text);
      if (errors > MOST_ERRORS) this.#problems.push(`request ${number} has ${errors} wrong words: ${text}`);
    } catch (error) {
      if (controller.signal.aborted) this.#left += 1;
      else this.#problems.push(`request ${number}: ${String(error)}`);
    }
  }

  #params(): object {
    return {
      beam_size: this.#random.pick([1, 2, 5]),
      word_timestamps: this.#random.chance(0.3),
      logprobs: this.#random.chance(0.3),
      vad_filter: this.#random.chance(0.5),
      condition_on_previous_text: this.#random.chance(0.2),
    };
  }

  async #transcribed(audio: AudioReference, params: object, signal: AbortSignal): Promise<string> {
    let text = '';
    for await (const batch of this.#asr.stream('transcribe_stream', { audio, params }, { signal }))
      for (const value of batch) text += AsrOutput.parse(value).transcription.text;
    return text;
  }

  async #live(speech: Float32Array, signal: AbortSignal): Promise<string> {
    async function* parts(): AsyncGenerator<Float32Array> {
      for (let at = 0; at < speech.length; at += LIVE_PART) yield speech.slice(at, at + LIVE_PART);
    }
    let text = '';
    for await (const batch of this.#asr.stream('transcribe_live', { audio: parts() }, { signal }))
      for (const value of batch) {
        const result = LiveResult.parse(value);
        if (result.type === 'final') text += result.text;
      }
    return text;
  }

  /** The same process is idle, and still answers as many calls as it takes at once. */
  async #checkReplica(pid: number, audio: AudioReference): Promise<void> {
    while (this.#manager.status()['model']?.replicas[0]?.ongoing !== 0) await sleep(10);
    const { signal } = new AbortController();
    const texts = await Promise.all(Array.from({ length: 8 }, () => this.#transcribed(audio, {}, signal)));
    for (const text of texts) if (wordErrors(SAMPLE_TEXT, text) > 0) this.#problems.push(`at the end: ${text}`);
    if (replicaPid(this.#manager) !== pid) this.#problems.push('the replica was replaced');
  }
}
