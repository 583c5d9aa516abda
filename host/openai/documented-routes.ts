import { TRANSCRIPTION_FIELDS, TRANSLATION_FIELDS } from './audio/audio-fields.ts';
import { BATCH_FIELDS } from './batches/batch-fields.ts';
import { CHAT_FIELDS } from './chat/chat-fields.ts';
import { COMPLETION_FIELDS } from './completions/completion-fields.ts';
import { FILE_FIELDS } from './files/file-fields.ts';
import type { RequestFields } from './fields.ts';
import { CLIENT_SECRET_FIELDS } from './realtime/client-secret.ts';
import {
  SESSION_AUDIO_FIELDS,
  SESSION_FIELDS,
  SESSION_INPUT_FIELDS,
  SESSION_TRANSCRIPTION_FIELDS,
  TURN_DETECTION_FIELDS,
} from './realtime/session-fields.ts';
import { INPUT_TOKENS_FIELDS, RESPONSE_FIELDS } from './responses/response-fields.ts';
import { DETOKENIZE_FIELDS, TOKENIZE_FIELDS } from './tokens/token-fields.ts';
import { COMPLETE_FIELDS, PART_FIELDS, UPLOAD_FIELDS } from './uploads/upload-fields.ts';
import { EMBEDDING_FIELDS } from './vectors/embedding-fields.ts';
import { RERANK_FIELDS } from './vectors/rerank.ts';

/** A route, such as `POST /v1/completions`, with its parameters. */
export interface DocumentedRoute {
  readonly route: string;
  readonly fields: RequestFields;
  /** Another path of the same route. */
  readonly alias?: string;
}

/** The routes with parameters, for the documentation. */
export const DOCUMENTED_ROUTES: readonly DocumentedRoute[] = [
  { route: 'POST /v1/chat/completions', fields: CHAT_FIELDS },
  { route: 'POST /v1/responses', fields: RESPONSE_FIELDS },
  { route: 'POST /v1/responses/input_tokens', fields: INPUT_TOKENS_FIELDS },
  { route: 'POST /v1/completions', fields: COMPLETION_FIELDS },
  { route: 'POST /v1/tokenize', fields: TOKENIZE_FIELDS, alias: '/tokenize' },
  { route: 'POST /v1/detokenize', fields: DETOKENIZE_FIELDS, alias: '/detokenize' },
  { route: 'POST /v1/embeddings', fields: EMBEDDING_FIELDS },
  { route: 'POST /v1/rerank', fields: RERANK_FIELDS, alias: '/v1/reranking' },
  { route: 'POST /v1/audio/transcriptions', fields: TRANSCRIPTION_FIELDS },
  { route: 'POST /v1/audio/translations', fields: TRANSLATION_FIELDS },
  { route: 'POST /v1/files', fields: FILE_FIELDS },
  { route: 'POST /v1/uploads', fields: UPLOAD_FIELDS },
  { route: 'POST /v1/uploads/{upload_id}/parts', fields: PART_FIELDS },
  { route: 'POST /v1/uploads/{upload_id}/complete', fields: COMPLETE_FIELDS },
  { route: 'POST /v1/batches', fields: BATCH_FIELDS },
  { route: 'POST /v1/realtime/client_secrets', fields: CLIENT_SECRET_FIELDS },
];

/** The objects of a realtime session. */
export const SESSION_OBJECTS: readonly DocumentedRoute[] = [
  { route: 'session', fields: SESSION_FIELDS },
  { route: 'session.audio', fields: SESSION_AUDIO_FIELDS },
  { route: 'session.audio.input', fields: SESSION_INPUT_FIELDS },
  { route: 'session.audio.input.transcription', fields: SESSION_TRANSCRIPTION_FIELDS },
  { route: 'session.audio.input.turn_detection', fields: TURN_DETECTION_FIELDS },
];
