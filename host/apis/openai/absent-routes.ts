/** A part of OpenAI's API that this server does not have. */
export interface AbsentRoute {
  /** The path of its routes, which may have further parts. */
  readonly path: string;
  /** What the routes are for. */
  readonly what: string;
  /** What this server has instead. */
  readonly instead?: string;
}

const RESPONSES = 'POST /v1/responses with previous_response_id continues a stored dialog';
const CONNECT = 'connect to /v1/realtime with an API key';

/** The parts of OpenAI's API that clients know and this server does not have. */
export const ABSENT_ROUTES: readonly AbsentRoute[] = [
  { path: '/v1/assistants', what: 'assistants', instead: RESPONSES },
  { path: '/v1/audio/speech', what: 'text to speech' },
  { path: '/v1/audio/voices', what: 'text to speech' },
  { path: '/v1/chat/completions/', what: 'stored chat completions', instead: RESPONSES },
  { path: '/v1/chatkit', what: 'ChatKit' },
  { path: '/v1/containers', what: 'containers' },
  { path: '/v1/conversations', what: 'conversations', instead: RESPONSES },
  { path: '/v1/edits', what: 'edits', instead: 'POST /v1/chat/completions' },
  { path: '/v1/engines', what: 'engines', instead: 'GET /v1/models lists the models' },
  { path: '/v1/evals', what: 'evals' },
  { path: '/v1/fine_tuning', what: 'fine-tuning' },
  { path: '/v1/images', what: 'generation of images' },
  { path: '/v1/moderations', what: 'moderation', instead: 'ask a language model of this server' },
  { path: '/v1/organization', what: 'organizations and projects' },
  { path: '/v1/realtime/calls', what: 'calls over WebRTC and SIP', instead: CONNECT },
  { path: '/v1/realtime/sessions', what: 'sessions of speech to speech' },
  {
    path: '/v1/realtime/transcription_sessions',
    what: 'sessions of the beta of the realtime API',
    instead: 'POST /v1/realtime/client_secrets',
  },
  { path: '/v1/realtime/translations', what: 'live translation', instead: 'connect to /asr/live?task=translate' },
  { path: '/v1/skills', what: 'skills' },
  { path: '/v1/threads', what: 'threads', instead: RESPONSES },
  { path: '/v1/videos', what: 'generation of videos' },
];

/** Returns why nothing is at a path, if it belongs to a part of OpenAI's API that this server does not have. */
export function absenceOf(path: string): string | undefined {
  const found = ABSENT_ROUTES.find((route) => isBelow(path, route.path));
  return found && `this server has no ${found.what}${found.instead === undefined ? '' : `: ${found.instead}`}`;
}

function isBelow(path: string, parent: string): boolean {
  return parent.endsWith('/') ? path.startsWith(parent) : path === parent || path.startsWith(`${parent}/`);
}
