import * as z from 'zod';
import { prefixedId } from '../text/values.ts';
import { AudioFormat } from './session-fields.ts';

/** A transcription session with the values that are in effect. */
export const TranscriptionSession = z.object({
  id: z.string(),
  object: z.literal('realtime.transcription_session'),
  type: z.literal('transcription'),
  expires_at: z.int().describe('Seconds since the epoch at which the server closes the session.'),
  audio: z.object({
    input: z.object({
      format: AudioFormat,
      transcription: z
        .object({ model: z.string(), language: z.string().nullable(), prompt: z.string().nullable() })
        .nullable(),
      noise_reduction: z.null(),
      turn_detection: z
        .object({
          type: z.literal('server_vad'),
          threshold: z.number(),
          prefix_padding_ms: z.number(),
          silence_duration_ms: z.number(),
        })
        .nullable(),
    }),
  }),
  include: z.null(),
});

const event = <Type extends string, Shape extends z.core.$ZodShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), event_id: z.string(), ...shape });

const Item = z
  .object({
    id: z.string(),
    object: z.literal('realtime.item'),
    type: z.literal('message'),
    role: z.literal('user'),
    status: z.literal('completed'),
    content: z.array(z.object({ type: z.literal('input_audio'), transcript: z.string().nullable() })),
  })
  .describe('The audio of one turn. Its transcript comes in events of its own.');

const inConversation = { previous_item_id: z.string().nullable(), item: Item };
const transcript = { item_id: z.string(), content_index: z.int() };

const Failure = z.object({
  type: z.string(),
  code: z.string().nullable(),
  message: z.string(),
  param: z.string().nullable(),
});

/** The events that the server sends in a transcription session. */
export const RealtimeServerEvent = z.discriminatedUnion('type', [
  event('session.created', { session: TranscriptionSession }),
  event('session.updated', { session: TranscriptionSession }),
  event('input_audio_buffer.speech_started', { audio_start_ms: z.int(), item_id: z.string() }),
  event('input_audio_buffer.speech_stopped', { audio_end_ms: z.int(), item_id: z.string() }),
  event('input_audio_buffer.committed', { previous_item_id: z.string().nullable(), item_id: z.string() }),
  event('input_audio_buffer.cleared', {}),
  event('conversation.item.added', inConversation),
  event('conversation.item.done', inConversation),
  event('conversation.item.input_audio_transcription.delta', { ...transcript, delta: z.string() }),
  event('conversation.item.input_audio_transcription.completed', {
    ...transcript,
    transcript: z.string(),
    usage: z.object({
      type: z.literal('duration'),
      seconds: z.int().describe('Seconds of the audio, rounded up.'),
    }),
  }),
  event('conversation.item.input_audio_transcription.failed', { ...transcript, error: Failure }),
  event('error', {
    error: z.object({
      ...Failure.shape,
      event_id: z.string().nullable().describe('The event of the client that caused the error, if it has an id.'),
    }),
  }),
]);

type Sent = z.input<typeof RealtimeServerEvent>;
type WithoutId<Event> = Event extends unknown ? Omit<Event, 'event_id'> : never;

/** An event that has no id yet. */
export type NewServerEvent = WithoutId<Sent>;

/** Returns an event with an id. */
export function identified(newEvent: NewServerEvent): Sent {
  return { event_id: prefixedId('event_'), ...newEvent };
}
