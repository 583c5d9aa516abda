import { openAiError } from '../errors.ts';
import { prefixedId } from '../text/values.ts';
import type { NewServerEvent } from './server-events.ts';

/** The audio of one turn, as an item of the conversation, and the events about it. */
export class SpokenItem {
  readonly id: string = prefixedId('item_');
  #text = '';

  /** Returns the event of words that stay. */
  *words(text: string): Generator<NewServerEvent> {
    const delta = this.#text === '' ? text.trimStart() : text;
    this.#text += delta;
    if (delta === '') return;
    yield { type: 'conversation.item.input_audio_transcription.delta', item_id: this.id, content_index: 0, delta };
  }

  /** Returns the events when the turn is over. `previousId` is the item before it. */
  *committed(previousId: string | null): Generator<NewServerEvent> {
    const item = {
      id: this.id,
      object: 'realtime.item' as const,
      type: 'message' as const,
      role: 'user' as const,
      status: 'completed' as const,
      content: [{ type: 'input_audio' as const, transcript: null }],
    };
    yield { type: 'input_audio_buffer.committed', previous_item_id: previousId, item_id: this.id };
    yield { type: 'conversation.item.added', previous_item_id: previousId, item };
    yield { type: 'conversation.item.done', previous_item_id: previousId, item };
  }

  /** Returns the event when all words are known. `seconds` is the length of the audio. */
  completed(seconds: number): NewServerEvent {
    return {
      type: 'conversation.item.input_audio_transcription.completed',
      item_id: this.id,
      content_index: 0,
      transcript: this.#text,
      usage: { type: 'duration', seconds: Math.ceil(seconds) },
    };
  }

  failed(thrown: unknown): NewServerEvent {
    return {
      type: 'conversation.item.input_audio_transcription.failed',
      item_id: this.id,
      content_index: 0,
      error: openAiError(thrown).error,
    };
  }
}
