import type { AudioFormat } from './session-fields.ts';
import { blamed } from '../blame.ts';
import { identified, type NewServerEvent } from './server-events.ts';
import type { SessionSettings } from './session.ts';
import type { Turns } from './turns.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import type { EncodedAudio, LiveTurnResult } from '../../../base/schemas/index.ts';
import { type PcmFormat, PcmReader } from '../../http/sockets/audio/pcm-reader.ts';
import type { SocketChannel } from '../../http/sockets/socket-route.ts';
import { AudioFeed } from './audio-feed.ts';
import { REALTIME_BLAME } from './realtime-blame.ts';

const FORMATS: Readonly<Record<AudioFormat['type'], PcmFormat>> = {
  'audio/pcm': { encoding: 'pcm_s16le', sampleRate: 24_000 },
  'audio/pcmu': { encoding: 'g711_ulaw', sampleRate: 8000 },
  'audio/pcma': { encoding: 'g711_alaw', sampleRate: 8000 },
};

export interface SegmentOptions {
  readonly models: ModelDirectory;
  readonly deployment: string;
  readonly settings: SessionSettings;
  /** Makes events of the results. */
  readonly turns: Turns;
}

/** A part of a session's audio that one call transcribes. The call begins with the first 0.1 s. */
export class AudioSegment {
  readonly #channel: SocketChannel;
  readonly #options: SegmentOptions;
  readonly #turns: Turns;
  readonly #reader: PcmReader;
  readonly #feed = new AudioFeed();
  readonly #cancelling = new AbortController();
  #heard: Promise<void> | undefined;
  #isOver = false;

  constructor(channel: SocketChannel, options: SegmentOptions) {
    this.#channel = channel;
    this.#options = options;
    this.#turns = options.turns;
    this.#reader = new PcmReader(FORMATS[options.settings.format.type]);
  }

  /** Seconds of audio so far. */
  get seconds(): number {
    return this.#reader.seconds;
  }

  /** Whether the call has ended. Further audio is dropped. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Takes audio. Resolves when there is room for more. Throws `InvalidAudio`. */
  async append(audio: Buffer): Promise<void> {
    for (const part of this.#reader.read(audio)) await this.#push(part);
  }

  /** Commits the audio for the client. Resolves when its words were sent. */
  async commit(): Promise<void> {
    await this.#tell(this.#turns.commit());
    await this.end();
  }

  /** Ends the audio. Resolves when its words were sent. */
  async end(): Promise<void> {
    for (const part of this.#reader.end()) await this.#push(part);
    this.#feed.end();
    await this.#heard;
    await this.#tell(this.#turns.end(this.seconds));
  }

  /** Drops the audio, and the words that were not sent yet. */
  async cancel(): Promise<void> {
    this.#cancelling.abort();
    await this.#heard;
  }

  #push(part: EncodedAudio): Promise<void> {
    if (!this.#heard) {
      this.#heard = this.#hear();
      this.#heard.catch(() => {}); // `end` throws it
    }
    return this.#feed.push(part);
  }

  async #hear(): Promise<void> {
    const { models, deployment, settings } = this.#options;
    const { context } = this.#channel;
    const signal = AbortSignal.any([context.signal, this.#cancelling.signal]);
    const method = settings.turnDetection ? 'transcribe_turns' : 'transcribe_live';
    const args = { audio: this.#feed, params: paramsOf(settings) };
    try {
      for await (const results of models.stream(deployment, method, args, { ...context, signal }))
        for (const result of results) await this.#tell(this.#turns.of(result as LiveTurnResult));
    } catch (error) {
      if (!signal.aborted) await this.#tell(this.#turns.fail(blamed(error, REALTIME_BLAME)));
    } finally {
      this.#isOver = true;
      await this.#feed.return();
    }
  }

  async #tell(events: Iterable<NewServerEvent>): Promise<void> {
    for (const event of events) await this.#channel.send(identified(event));
  }
}

/** Returns the parameters of the call. */
function paramsOf({ transcription: { language, prompt }, turnDetection }: SessionSettings): Record<string, unknown> {
  return {
    ...(language !== null && { language }),
    ...(prompt !== null && { initial_prompt: prompt }),
    ...(turnDetection && {
      silence_s: turnDetection.silenceMs / 1000,
      threshold: turnDetection.threshold,
      prefix_s: turnDetection.prefixMs / 1000,
    }),
  };
}
