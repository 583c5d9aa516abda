import * as z from 'zod';
import { toggle } from '../../../../base/core/fields.ts';
import { answers, type RouteDefinition } from '../../../openapi/route-definition.ts';
import type { AnswerOf } from '../../../openapi/values.ts';

const PullEvent = z
  .object({
    state: z.enum(['pulling', 'done', 'failed', 'cancelled']),
    text: z.string().describe('What is done now, such as `downloading`; the reason of a pull that failed.'),
    bytes: z.int().min(0).describe('Bytes of the current stage.'),
    total_bytes: z.int().min(0).nullable().describe('Bytes of the whole stage; null where they are unknown.'),
  })
  .describe('The progress of a pull.');
export type PullEvent = AnswerOf<typeof PullEvent>;

const ModelReport = z
  .object({
    id: z.string(),
    kind: z.enum(['whisper', 'vad', 'gguf', 'onnx']),
    state: z.enum(['present', 'absent', 'damaged']).describe('Whether this machine has the model as it was verified.'),
    bytes: z.int().nullable().describe('Length of all its files; null where it is unknown.'),
    licence: z.string(),
    sources: z.array(z.string()).describe('Where a pull looks for it, in order.'),
    used_by: z.array(z.string()).describe('Names of the deployments that load it.'),
    pull: PullEvent.nullable().describe('The pull that runs, or the last one if it did not succeed.'),
  })
  .describe('A model of the catalogue, or another one that this machine has.');
export type ModelReport = AnswerOf<typeof ModelReport>;

const Removed = z.object({ id: z.string(), freed_bytes: z.int().min(0) });

/** The routes with which admins see, pull and remove models. An id with `/` is written with `%2F`. */
export const MODEL_ROUTES = {
  list: {
    id: 'list_all_models',
    at: 'get /api/models',
    summary: 'Models of the catalogue and of this machine',
    query: z.object({
      all: toggle(false, 'Also the variants that are not the default and not here.'),
    }),
    answers: answers('The models.', z.object({ models: z.array(ModelReport) })),
    fails: [422, 500],
  },
  pull: {
    id: 'pull_model',
    at: 'post /api/models/{model_id}/pull',
    summary:
      'Pull a model, or follow its pull, as server-sent events named `pull`; the last one says how it ended. The ' +
      'pull goes on when the client leaves',
    answers: { 200: { description: 'The progress.', schema: PullEvent, type: 'text/event-stream' } },
    fails: [404, 409, 422, 500, 503],
  },
  cancel: {
    id: 'cancel_pull',
    at: 'delete /api/models/{model_id}/pull',
    summary: 'End the pull of a model. The next pull continues where it ended',
    answers: answers('Whether a pull ran.', z.object({ id: z.string(), cancelled: z.boolean() })),
    fails: [404, 422, 500],
  },
  delete: {
    id: 'delete_model',
    at: 'delete /api/models/{model_id}',
    summary: 'Remove the files of a model from this machine',
    query: z.object({
      force: toggle(
        false,
        'Also while a deployment loads it. Replicas that run keep it; those that start later need it again.',
      ),
    }),
    answers: answers('The removed model.', Removed),
    fails: [404, 409, 422, 500],
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;
