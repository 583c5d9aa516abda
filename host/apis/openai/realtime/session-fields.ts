import * as z from 'zod';
import { MAX_NAME } from '../../../base/schemas/index.ts';
import type { RequestFields } from '../fields.ts';

/** Characters that a prompt of Whisper can have. */
const MAX_PROMPT = 4000;

/** The member `session` of `session.update`. */
export const SESSION_FIELDS = {
  schema: z.object({
    type: z
      .literal('transcription', 'Input should be transcription: this server has no sessions of speech to speech')
      .describe('`transcription`, because this server has no sessions of speech to speech.'),
    audio: z.nullish(z.unknown()).describe('Has `input`, see below.'),
    include: z
      .nullish(z.array(z.string().max(MAX_NAME)).max(100))
      .describe('`item.input_audio_transcription.logprobs` is refused, because no model tells them.'),
  }),
  idle: {},
} as const satisfies RequestFields;

/** The member `session.audio`. */
export const SESSION_AUDIO_FIELDS = {
  schema: z.object({ input: z.nullish(z.unknown()).describe('The audio of the client, see below.') }),
  idle: { output: { why: 'a transcription has no audio of the server' } },
} as const satisfies RequestFields;

/** The audio of a client: 16-bit samples at 24 kHz, or telephone speech. */
export const AudioFormat = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('audio/pcm'),
    rate: z.literal(24_000, 'Input should be 24000').default(24_000),
  }),
  z.object({ type: z.literal('audio/pcmu') }),
  z.object({ type: z.literal('audio/pcma') }),
]);
export type AudioFormat = z.output<typeof AudioFormat>;

/** The member `session.audio.input`. */
export const SESSION_INPUT_FIELDS = {
  schema: z.object({
    format: AudioFormat.optional().describe(
      '`audio/pcm`, which is the default: 16-bit mono little-endian samples at 24 kHz. Or `audio/pcmu` or ' +
        '`audio/pcma`, at 8 kHz.',
    ),
    transcription: z.nullish(z.unknown()).describe('The model and what it should know, see below.'),
    turn_detection: z
      .nullish(z.unknown())
      .describe('How turns end, see below. With null, the client ends each turn by `input_audio_buffer.commit`.'),
  }),
  idle: { noise_reduction: { why: 'the models hear the audio as it is' } },
} as const satisfies RequestFields;

/** The member `session.audio.input.transcription`. What is absent stays as it is. */
export const SESSION_TRANSCRIPTION_FIELDS = {
  schema: z.object({
    model: z
      .string()
      .min(1)
      .max(MAX_NAME)
      .optional()
      .describe('A deployment of speech to text, an alias, or the id of a model.'),
    language: z
      .nullish(z.string().max(32))
      .describe('Code of the language, such as `en`. Default: detected from the first words.'),
    prompt: z
      .nullish(z.string().max(MAX_PROMPT))
      .describe('Text before the speech. Names and terms are written as they stand there.'),
  }),
  idle: {
    delay: {
      why: 'a word is sent when it is certain or two passes over the speech agree on it, or when the turn ends',
    },
  },
} as const satisfies RequestFields;

/** The member `session.audio.input.turn_detection`. */
export const TURN_DETECTION_FIELDS = {
  schema: z.object({
    type: z
      .literal('server_vad', 'Input should be server_vad: this server has no other detection of turns')
      .describe('`server_vad`.'),
    silence_duration_ms: z
      .nullish(z.number().min(200).max(60_000))
      .describe('Silence that ends a turn, in milliseconds: 200 to 60000. Default: 500.'),
    threshold: z
      .nullish(z.number().min(0).max(1))
      .describe('Probability of a voice above which speech begins. It ends 0.15 below it. Default: 0.5.'),
    prefix_padding_ms: z
      .nullish(z.number().min(0).max(5000))
      .describe('Audio before its speech that a turn has at most, in milliseconds: 0 to 5000. Default: 400.'),
  }),
  idle: {
    idle_timeout_ms: { why: 'this server has no responses to prompt for' },
    create_response: { why: 'a transcription has no responses', isHarmless: true },
    interrupt_response: { why: 'a transcription has no responses', isHarmless: true },
  },
} as const satisfies RequestFields;

/** The objects of a realtime session. */
export const SESSION_OBJECTS: readonly { readonly route: string; readonly fields: RequestFields }[] = [
  { route: 'session', fields: SESSION_FIELDS },
  { route: 'session.audio', fields: SESSION_AUDIO_FIELDS },
  { route: 'session.audio.input', fields: SESSION_INPUT_FIELDS },
  { route: 'session.audio.input.transcription', fields: SESSION_TRANSCRIPTION_FIELDS },
  { route: 'session.audio.input.turn_detection', fields: TURN_DETECTION_FIELDS },
];
