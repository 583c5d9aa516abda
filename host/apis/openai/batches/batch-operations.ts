import { CHAT_FIELDS } from '../chat/chat-fields.ts';
import { answerChat } from '../chat/chat-run.ts';
import { COMPLETION_FIELDS } from '../completions/completion-fields.ts';
import { answerCompletion } from '../completions/completion-run.ts';
import type { Capability } from '../models/capabilities.ts';
import type { OpenMedia } from '../media/media-part.ts';
import type { HostedToolsPolicy } from '../hosted-tools.ts';
import { readRequest, type RequestFields, unsupported } from '../fields.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import { RESPONSE_FIELDS } from '../responses/response-fields.ts';
import { answerResponse, type Dialogs } from '../responses/response-run.ts';
import type { RunContext } from '../run-context.ts';
import { EMBEDDING_FIELDS } from '../vectors/embedding-fields.ts';
import { answerEmbeddings } from '../vectors/embedding-run.ts';

/** The paths whose requests a batch can have. */
export const BATCH_ENDPOINTS = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/responses'] as const;
export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];

/** What the requests of a batch can use. */
export interface BatchScope {
  readonly models: ModelDirectory;
  readonly dialogs: Dialogs;
  readonly openMedia: OpenMedia;
  /** Whether a parameter without effect is refused. */
  readonly strict: boolean;
  readonly hostedTools: HostedToolsPolicy;
}

/** The requests of a path, which need no HTTP. */
export interface BatchOperation {
  /** What the model must be able to do. */
  readonly capability: Capability;
  /** Answers the body of a request as the route does. Throws the errors of the route. */
  answer(body: unknown, scope: BatchScope, context: RunContext): Promise<object>;
}

type RequestOf<Fields extends RequestFields> = ReturnType<Fields['schema']['parse']>;

/** Returns the requests of a path with these parameters. */
export function batchOperation<Fields extends RequestFields>(
  capability: Capability,
  fields: Fields,
  answer: (request: RequestOf<Fields>, scope: BatchScope, context: RunContext) => Promise<object>,
): BatchOperation {
  return {
    capability,
    answer: (body, scope, context) => {
      const { request } = readRequest(fields, body, scope);
      if (request['stream'] === true) throw unsupported('stream', 'the answers of a batch are whole');
      if (request['background'] === true) throw unsupported('background', 'a batch is in the background');
      return answer(request as RequestOf<Fields>, scope, context);
    },
  };
}

/** The requests of each path. */
export const BATCH_OPERATIONS: Readonly<Record<BatchEndpoint, BatchOperation>> = {
  '/v1/chat/completions': batchOperation('chat', CHAT_FIELDS, (request, { models, openMedia }, context) =>
    answerChat(models, request, context, openMedia),
  ),
  '/v1/completions': batchOperation('completions', COMPLETION_FIELDS, (request, { models, strict }, context) =>
    answerCompletion(models, request, strict, context),
  ),
  '/v1/embeddings': batchOperation('embeddings', EMBEDDING_FIELDS, (request, { models }, context) =>
    answerEmbeddings(models, request, context),
  ),
  '/v1/responses': batchOperation('chat', RESPONSE_FIELDS, (request, { models, dialogs }, context) =>
    answerResponse(models, request, dialogs, context),
  ),
};
