import * as z from 'zod';
import type { ForCallers } from '../../../base/core/request-context.ts';
import { parseInput, type ServedEndpoint } from '../../../endpoints/registry/index.ts';
import type { HostedToolsPolicy } from '../hosted-tools.ts';
import type { OpenMedia } from '../media/media-part.ts';
import type { UserResponses } from '../responses/stored/stored-responses.ts';
import type { SearchScopes } from '../vector-stores/search-stores.ts';
import { type ModelDirectory, onlyModels } from '../../../inference/deployments/index.ts';
import { batchHasEnded } from '../../../data/storage/index.ts';
import { BatchAttempt, type BatchAttemptOptions } from './batch-attempt.ts';

export interface BatchWorkOptions extends BatchAttemptOptions {
  readonly models: ModelDirectory;
  readonly responses: ForCallers<UserResponses>;
  readonly search: SearchScopes;
  readonly openMedia: OpenMedia;
  /** Whether a parameter without effect is refused. */
  readonly strict: boolean;
  readonly hostedTools: HostedToolsPolicy;
}

/** The input of the task of a batch. */
export const BatchTask = z.object({
  batch_id: z.string(),
  /** The deployments that the key of the request allows; null for all. */
  deployments: z.array(z.string()).nullable(),
  /** The scopes of the key, which say what vector stores it may search; null for all. */
  scopes: z.array(z.string()).nullable().default([]),
});
export type BatchTask = z.output<typeof BatchTask>;

/** The path of the tasks of batches. It is the host's own, so no endpoint can have it, and no route runs it. */
const BATCH_PATH = '/v1/batches';

/** Returns the work of the tasks of batches. The output of a task is the id of its batch. */
export function batchWork(options: BatchWorkOptions): ServedEndpoint {
  const { storage, models, responses, search, openMedia, limits, large, strict, hostedTools } = options;
  return {
    name: 'batches',
    path: BATCH_PATH,
    summary: 'Answers the requests of a batch',
    description: '',
    inputSchema: z.toJSONSchema(BatchTask),
    outputSchema: { type: 'object' },
    streaming: false,
    validate: (input) => parseInput(BatchTask, input),
    run: async ({ input, userId, signal, traceparent, meter, onProgress = () => {} }) => {
      const { batch_id: id, deployments: names, scopes } = input as BatchTask;
      const deployments = names && new Set(names);
      const caller = { userId, traceparent };
      const batch = await storage.inTrace(traceparent).write(({ batchRuns }) => batchRuns.begin(id));
      if (batch && !batchHasEnded(batch.status)) {
        const scope = {
          models: onlyModels(models, deployments),
          dialogs: {
            store: responses.as({ userId }),
            maxBytes: limits.max_json_bytes + large.bytes,
            search: search(caller, { deployments, scopes }),
            openMedia,
          },
          openMedia,
          strict,
          hostedTools,
        };
        await new BatchAttempt(options, batch, { userId, scope, meter, traceparent }, onProgress).run(signal);
      }
      return JSON.stringify({ batch_id: id });
    },
  };
}
