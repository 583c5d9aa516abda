import { AanaError, type ErrorKind, fail } from '../../../base/core/errors.ts';
import { type JsonLimits, readJson } from '../../../base/core/json/read-json.ts';
import { remainingMs } from '../../../base/core/request-context.ts';
import { appendedAudio, type ClientEvent, eventIdOf, readClientEvent } from './client-events.ts';
import { blaming } from '../blame.ts';
import { CommittedTurn, type Conversation, DetectedTurns, errorEvent } from './turns.ts';
import { identified, type NewServerEvent } from './server-events.ts';
import { invalidValue } from '../fields.ts';
import { prefixedId } from '../text/values.ts';
import { routeOf } from '../models/model-route.ts';
import { type SessionFacts, sessionObject, type SessionSettings, updatedSettings } from './session.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import type { SocketChannel, SocketMessage } from '../../http/sockets/socket-route.ts';
import { AudioSegment } from './audio-segment.ts';
import { MODEL_PARAM, REALTIME_BLAME } from './realtime-blame.ts';

export interface RealtimeSessionOptions {
  readonly models: ModelDirectory;
  /** The settings with which it begins. */
  readonly settings: SessionSettings;
  /** Whether a parameter without effect is refused. */
  readonly strict: boolean;
  readonly limits: JsonLimits;
}

/** Errors of a client's event. The session goes on after them. */
const MISTAKES: ReadonlySet<ErrorKind> = new Set<ErrorKind>(['invalid-input', 'bad-request', 'not-found']);

/** A transcription session of OpenAI's realtime API. It handles one event of the client after another. */
export class RealtimeSession {
  readonly #channel: SocketChannel;
  readonly #options: RealtimeSessionOptions;
  readonly #facts: SessionFacts;
  readonly #conversation: Conversation = { lastItemId: null };
  #settings: SessionSettings;
  /** Takes the audio until the next commit, or the next change of the settings. */
  #segment: AudioSegment | undefined;
  /** Seconds of audio before the segment. */
  #beforeS = 0;

  constructor(channel: SocketChannel, options: RealtimeSessionOptions) {
    this.#channel = channel;
    this.#options = options;
    this.#settings = options.settings;
    const leftMs = remainingMs(channel.context) ?? 0;
    this.#facts = { id: prefixedId('sess_'), expiresAt: Math.floor((Date.now() + leftMs) / 1000) };
  }

  /** Serves the session until the client leaves or the server shuts down. */
  async run(): Promise<void> {
    await this.#send({ type: 'session.created', session: sessionObject(this.#facts, this.#settings) });
    for await (const message of this.#channel.messages) await this.#take(message);
    await this.#closed()?.end();
  }

  async #take(message: SocketMessage): Promise<void> {
    let eventId: string | null = null;
    try {
      const value = this.#parsed(message);
      eventId = eventIdOf(value);
      const event = readClientEvent(value, this.#options);
      await blaming(REALTIME_BLAME, () => this.#handle(event));
    } catch (error) {
      if (!(error instanceof AanaError && MISTAKES.has(error.kind))) throw error;
      await this.#send(errorEvent(error, eventId));
    }
  }

  #parsed(message: SocketMessage): unknown {
    if (typeof message === 'string') return readJson(message, this.#options.limits);
    throw fail('UnsupportedMessage', 'events are texts: audio comes as base64 in input_audio_buffer.append');
  }

  #handle(event: ClientEvent): Promise<void> {
    switch (event.type) {
      case 'session.update':
        return this.#update(event.session);
      case 'input_audio_buffer.append':
        return this.#append(appendedAudio(event.audio));
      case 'input_audio_buffer.commit':
        return this.#commit();
      case 'input_audio_buffer.clear':
        return this.#clear();
    }
  }

  async #update(session: unknown): Promise<void> {
    const settings = updatedSettings(this.#settings, session, this.#options);
    const { model } = settings.transcription;
    if (model !== null) this.#deploymentOf(model);
    if (this.#hasAudio && !this.#settings.turnDetection)
      throw invalidValue('session', 'it cannot change within a turn: commit or clear the audio first');
    await this.#closed()?.end();
    this.#settings = settings;
    await this.#send({ type: 'session.updated', session: sessionObject(this.#facts, settings) });
  }

  async #append(audio: Buffer): Promise<void> {
    if (this.#segment?.isOver && this.#settings.turnDetection) this.#closed(); // it has failed
    this.#segment ??= this.#opened();
    await this.#segment.append(audio);
  }

  async #commit(): Promise<void> {
    if (!this.#hasAudio)
      throw fail('InvalidParameter', 'there is no audio to commit', {
        data: { code: 'input_audio_buffer_commit_empty' },
      });
    await this.#closed()?.commit();
  }

  async #clear(): Promise<void> {
    await this.#closed()?.cancel();
    await this.#send({ type: 'input_audio_buffer.cleared' });
  }

  /** Whether there is audio since the last commit, or since the last change of the settings. */
  get #hasAudio(): boolean {
    return this.#segment !== undefined && this.#segment.seconds > 0;
  }

  #opened(): AudioSegment {
    const { transcription, turnDetection } = this.#settings;
    if (transcription.model === null)
      throw fail('InvalidParameter', `'${MODEL_PARAM}': Field required before audio`, {
        data: { param: MODEL_PARAM, code: 'missing_required_parameter' },
      });
    return new AudioSegment(this.#channel, {
      models: this.#options.models,
      deployment: this.#deploymentOf(transcription.model),
      settings: this.#settings,
      turns: turnDetection
        ? new DetectedTurns(this.#conversation, this.#beforeS)
        : new CommittedTurn(this.#conversation),
    });
  }

  /** Takes the segment away if it has audio, so that the next audio begins another one. */
  #closed(): AudioSegment | undefined {
    const segment = this.#hasAudio ? this.#segment : undefined;
    this.#beforeS += segment?.seconds ?? 0;
    this.#segment = undefined;
    return segment;
  }

  #deploymentOf(model: string): string {
    const wish = { name: model, capability: 'realtime', dialog: [{ role: 'user', content: this.#facts.id }] } as const;
    return routeOf(this.#options.models, wish, this.#channel.context).chosen.model.name;
  }

  #send(event: NewServerEvent): Promise<void> {
    return this.#channel.send(identified(event));
  }
}
