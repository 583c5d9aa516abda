import * as z from 'zod';
import { MAX_DATA } from '../../../base/schemas/index.ts';
import { fail } from '../../../base/core/errors.ts';
import { base64Bytes } from '../base64.ts';
import { invalidValue, readRequest, type RequestFields } from '../fields.ts';

const common = { event_id: z.string().max(512).optional() };

const fields = <Type extends string, Shape extends z.core.$ZodShape>(type: Type, shape: Shape) => ({
  schema: z.object({ type: z.literal(type), ...common, ...shape }),
  idle: {},
});

/** The events of a client, with their members. */
export const CLIENT_EVENTS = {
  'session.update': fields('session.update', { session: z.unknown() }),
  'input_audio_buffer.append': fields('input_audio_buffer.append', { audio: z.string().max(MAX_DATA) }),
  'input_audio_buffer.commit': fields('input_audio_buffer.commit', {}),
  'input_audio_buffer.clear': fields('input_audio_buffer.clear', {}),
} as const satisfies Readonly<Record<string, RequestFields>>;

type Events = typeof CLIENT_EVENTS;

/** An event of a client. */
export type ClientEvent = { [Type in keyof Events]: z.output<Events[Type]['schema']> }[keyof Events];

/** Returns the id that a client has given to an event, whatever else is wrong with it. */
export function eventIdOf(value: unknown): string | null {
  const { event_id: id } = (value ?? {}) as { readonly event_id?: unknown };
  return typeof id === 'string' ? id.slice(0, 512) : null;
}

/** Checks an event of a client. Throws an error that names the wrong parameter. */
export function readClientEvent(value: unknown, { strict }: { readonly strict: boolean }): ClientEvent {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw fail('InvalidParameter', 'an event is a JSON object');
  const { type } = value as { readonly type?: unknown };
  if (typeof type !== 'string' || !Object.hasOwn(CLIENT_EVENTS, type))
    throw invalidValue('type', `the events of a transcription session are ${Object.keys(CLIENT_EVENTS).join(', ')}`);
  return readRequest(CLIENT_EVENTS[type as keyof Events] as RequestFields, value, { strict }).request as ClientEvent;
}

/** Returns the bytes of `input_audio_buffer.append`. Throws `InvalidParameter` if they are no base64. */
export function appendedAudio(audio: string): Buffer {
  const bytes = base64Bytes(audio);
  if (!bytes) throw invalidValue('audio', 'it is no base64');
  return bytes;
}
