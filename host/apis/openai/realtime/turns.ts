import type { LiveTurnResult } from '../../../base/schemas/index.ts';
import { openAiError } from '../errors.ts';
import type { NewServerEvent } from './server-events.ts';
import { SpokenItem } from './spoken-item.ts';

/** The order of the items in a session. */
export interface Conversation {
  /** The item that was committed last. */
  lastItemId: string | null;
}

/** Makes events of the results of one call, whose audio the client or the server divides into turns. */
export interface Turns {
  /** Returns the events of a result. */
  of(result: LiveTurnResult): Iterable<NewServerEvent>;
  /** Returns the events when the client has committed the audio. Its last results may follow. */
  commit(): Iterable<NewServerEvent>;
  /** Returns the events after the last result of the call, which has heard so many seconds. */
  end(seconds: number): Iterable<NewServerEvent>;
  /** Returns the events when the call has failed. */
  fail(thrown: unknown): Iterable<NewServerEvent>;
}

/** The audio of a call is one turn, which the client commits. */
export class CommittedTurn implements Turns {
  readonly #item = new SpokenItem();
  readonly #conversation: Conversation;
  #hasFailed = false;

  constructor(conversation: Conversation) {
    this.#conversation = conversation;
  }

  *of(result: LiveTurnResult): Generator<NewServerEvent> {
    if (result.type === 'final') yield* this.#item.words(result.text);
  }

  commit(): Iterable<NewServerEvent> {
    return committed(this.#item, this.#conversation);
  }

  *end(seconds: number): Generator<NewServerEvent> {
    if (!this.#hasFailed) yield this.#item.completed(seconds);
  }

  *fail(thrown: unknown): Generator<NewServerEvent> {
    this.#hasFailed = true;
    yield this.#item.failed(thrown);
  }
}

/** The deployment finds the turns in the audio of a call. */
export class DetectedTurns implements Turns {
  readonly #conversation: Conversation;
  /** Seconds of the session's audio before the call. */
  readonly #beforeS: number;
  #open: { readonly item: SpokenItem; readonly startS: number } | undefined;
  /** Whether the client has committed audio, and no turn has ended since. */
  #owesItem = false;
  #hasFailed = false;

  constructor(conversation: Conversation, beforeS: number) {
    this.#conversation = conversation;
    this.#beforeS = beforeS;
  }

  *of(result: LiveTurnResult): Generator<NewServerEvent> {
    if (result.type === 'speech_started') {
      const item = new SpokenItem();
      this.#open = { item, startS: result.at };
      yield { type: 'input_audio_buffer.speech_started', audio_start_ms: this.#ms(result.at), item_id: item.id };
    } else if (result.type === 'speech_stopped') yield* this.#stop(result.at);
    else if (result.type === 'final' && this.#open) yield* this.#open.item.words(result.text);
  }

  commit(): Iterable<NewServerEvent> {
    this.#owesItem = true;
    return [];
  }

  *end(): Generator<NewServerEvent> {
    if (!this.#owesItem || this.#hasFailed) return;
    const item = new SpokenItem();
    yield* committed(item, this.#conversation);
    yield item.completed(0);
  }

  *fail(thrown: unknown): Generator<NewServerEvent> {
    this.#hasFailed = true;
    if (this.#open) yield this.#open.item.failed(thrown);
    else yield errorEvent(thrown);
  }

  *#stop(at: number): Generator<NewServerEvent> {
    if (!this.#open) return;
    const { item, startS } = this.#open;
    this.#open = undefined;
    this.#owesItem = false;
    yield { type: 'input_audio_buffer.speech_stopped', audio_end_ms: this.#ms(at), item_id: item.id };
    yield* committed(item, this.#conversation);
    yield item.completed(at - startS);
  }

  #ms(at: number): number {
    return Math.round((this.#beforeS + at) * 1000);
  }
}

/** Returns the event of an error. `eventId` is the id of the client's event that has caused it. */
export function errorEvent(thrown: unknown, eventId: string | null = null): NewServerEvent {
  return { type: 'error', error: { ...openAiError(thrown).error, event_id: eventId } };
}

function* committed(item: SpokenItem, conversation: Conversation): Generator<NewServerEvent> {
  yield* item.committed(conversation.lastItemId);
  conversation.lastItemId = item.id;
}
