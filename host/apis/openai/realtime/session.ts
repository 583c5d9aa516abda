import type * as z from 'zod';
import { readRequest, type RequestFields, unsupported } from '../fields.ts';
import type { TranscriptionSession } from './server-events.ts';
import {
  type AudioFormat,
  SESSION_AUDIO_FIELDS,
  SESSION_FIELDS,
  SESSION_INPUT_FIELDS,
  SESSION_TRANSCRIPTION_FIELDS,
  TURN_DETECTION_FIELDS,
} from './session-fields.ts';

/** The settings of a transcription session. */
export interface SessionSettings {
  readonly format: AudioFormat;
  readonly transcription: SessionTranscription;
  /** Null if the client ends the turns. */
  readonly turnDetection: TurnDetection | null;
}

export interface TurnDetection {
  /** Silence that ends a turn. */
  readonly silenceMs: number;
  /** Probability of a voice above which speech begins. */
  readonly threshold: number;
  /** Audio before its speech that a turn has at most. */
  readonly prefixMs: number;
}

export interface SessionTranscription {
  /** The name that the client gave; null before it has given one. */
  readonly model: string | null;
  readonly language: string | null;
  readonly prompt: string | null;
}

const DEFAULT_DETECTION: TurnDetection = { silenceMs: 500, threshold: 0.5, prefixMs: 400 };
const NO_TRANSCRIPTION: SessionTranscription = { model: null, language: null, prompt: null };

/** Returns the settings with which a session begins. `given` are those of the client secret that opens it. */
export function firstSettings(model: string | undefined, given?: SessionSettings): SessionSettings {
  if (given) return model === undefined ? given : { ...given, transcription: { ...given.transcription, model } };
  return {
    format: { type: 'audio/pcm', rate: 24_000 },
    transcription: { ...NO_TRANSCRIPTION, model: model ?? null },
    turnDetection: DEFAULT_DETECTION,
  };
}

/**
 * Returns the settings after a `session.update`; what it does not name stays as it is. Throws errors that name the
 * wrong parameter, such as `session.audio.input.format`.
 */
export function updatedSettings(
  settings: SessionSettings,
  session: unknown,
  { strict }: { readonly strict: boolean },
): SessionSettings {
  const read = <Fields extends RequestFields>(fields: Fields, value: unknown, ...path: string[]) =>
    readRequest(fields, value, { strict, path: ['session', ...path] }).request as ReturnType<Fields['schema']['parse']>;
  const { audio, include } = read(SESSION_FIELDS, session);
  if (include?.length)
    throw unsupported('session.include', 'deployments of speech to text do not tell the log-probabilities of tokens');
  const { input } = read(SESSION_AUDIO_FIELDS, audio ?? {}, 'audio');
  const { format, transcription, turn_detection: turns } = read(SESSION_INPUT_FIELDS, input ?? {}, 'audio', 'input');
  const { model, language, prompt } = read(
    SESSION_TRANSCRIPTION_FIELDS,
    transcription ?? {},
    'audio',
    'input',
    'transcription',
  );
  const before = transcription === null ? NO_TRANSCRIPTION : settings.transcription;
  const turnDetection = (): SessionSettings['turnDetection'] => {
    if (turns === undefined) return settings.turnDetection;
    if (turns === null) return null;
    const given = read(TURN_DETECTION_FIELDS, turns, 'audio', 'input', 'turn_detection');
    return {
      silenceMs: given.silence_duration_ms ?? DEFAULT_DETECTION.silenceMs,
      threshold: given.threshold ?? DEFAULT_DETECTION.threshold,
      prefixMs: given.prefix_padding_ms ?? DEFAULT_DETECTION.prefixMs,
    };
  };
  return {
    format: format ?? settings.format,
    transcription: {
      model: model ?? before.model,
      language: language === undefined ? before.language : language,
      prompt: prompt === undefined ? before.prompt : prompt,
    },
    turnDetection: turnDetection(),
  };
}

/** What the events of a session tell of it. */
export interface SessionFacts {
  readonly id: string;
  /** Seconds since the epoch at which the server closes the session. */
  readonly expiresAt: number;
}

/** Returns the session as events show it: with the values that are in effect. */
export function sessionObject(
  { id, expiresAt }: SessionFacts,
  { format, transcription, turnDetection }: SessionSettings,
): z.input<typeof TranscriptionSession> {
  return {
    id,
    object: 'realtime.transcription_session',
    type: 'transcription',
    expires_at: expiresAt,
    audio: {
      input: {
        format,
        transcription: transcription.model === null ? null : { ...transcription, model: transcription.model },
        noise_reduction: null,
        turn_detection: turnDetection && {
          type: 'server_vad',
          threshold: turnDetection.threshold,
          prefix_padding_ms: turnDetection.prefixMs,
          silence_duration_ms: turnDetection.silenceMs,
        },
      },
    },
    include: null,
  };
}
