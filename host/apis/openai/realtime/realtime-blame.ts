import type { Blame } from '../blame.ts';

/** The parameter of a session that names the model. */
export const MODEL_PARAM = 'session.audio.input.transcription.model';

/** What causes errors of transcription sessions. */
export const REALTIME_BLAME: Blame = {
  UnknownModel: MODEL_PARAM,
  InvalidAudio: 'audio',
  'params.language': 'session.audio.input.transcription.language',
};
