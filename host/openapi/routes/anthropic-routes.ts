import { CountTokensRequest, Message, MessageEvent, MessagesRequest, TokenCount } from '../../anthropic/index.ts';
import { answers, type RouteDefinition } from './route-definition.ts';

const RUN_FAILURES = [401, 403, 404, 429, 500, 503, 504] as const;

/** The routes of Anthropic's API. Their errors have Anthropic's form. */
export const ANTHROPIC_ROUTES = {
  messages: {
    id: 'create_message',
    method: 'post',
    path: '/v1/messages',
    summary: 'Answers a dialog, as in Anthropic’s API',
    tag: 'anthropic',
    body: MessagesRequest,
    answers: { 200: { description: 'The answer.', schema: Message, events: MessageEvent } },
    fails: RUN_FAILURES,
  },
  countTokens: {
    id: 'count_message_tokens',
    method: 'post',
    path: '/v1/messages/count_tokens',
    summary: 'Counts the tokens of the prompt of a dialog, as in Anthropic’s API',
    tag: 'anthropic',
    body: CountTokensRequest,
    answers: answers('The count.', TokenCount),
    fails: RUN_FAILURES,
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;
