import * as z from 'zod';
import type { ForCallers } from '../../../../base/core/request-context.ts';
import { parseInput, type ServedEndpoint } from '../../../../endpoints/registry/index.ts';
import { type ModelDirectory, onlyModels } from '../../../../inference/deployments/index.ts';
import type { OpenMedia } from '../../media/media-part.ts';
import type { UserResponses } from '../stored/stored-responses.ts';
import type { SearchScopes } from '../../vector-stores/search-stores.ts';
import type { Storage } from '../../../../data/storage/index.ts';
import { BackgroundTask, FIRST_EVENTS } from './background-task.ts';
import { ResponseAttempt } from './response-attempt.ts';

export interface BackgroundWorkOptions {
  readonly storage: Storage;
  readonly models: ModelDirectory;
  readonly responses: ForCallers<UserResponses>;
  readonly search: SearchScopes;
  readonly openMedia: OpenMedia;
  /** Most bytes of the responses that a request continues. */
  readonly maxDialogBytes: number;
  /** Most bytes of responses that a user keeps; undefined is no limit. */
  readonly maxStoredBytes: number | undefined;
}

/** The path of the tasks of responses. It is the host's own, so no endpoint can have it, and no route runs it. */
const BACKGROUND_PATH = '/v1/responses';

/** Returns the work of the tasks of responses. The output of a task is the id of its response. */
export function backgroundWork(options: BackgroundWorkOptions): ServedEndpoint {
  const { storage, models, responses, search, openMedia, maxDialogBytes } = options;
  return {
    name: 'background_responses',
    path: BACKGROUND_PATH,
    summary: 'Makes a response in the background',
    description: '',
    inputSchema: z.toJSONSchema(BackgroundTask),
    outputSchema: { type: 'object' },
    streaming: false,
    validate: (input) => parseInput(BackgroundTask, input),
    run: async ({ input, userId, signal, deadlineAt, traceparent, meter }) => {
      const { response_id: id, deployments: names } = input as BackgroundTask;
      const deployments = names && new Set(names);
      const caller = { userId, traceparent };
      const traced = storage.inTrace(traceparent);
      const run = await traced.write((repositories) =>
        repositories.responseRunsOf(userId).begin(id, FIRST_EVENTS.length),
      );
      const store = responses.as(caller);
      const [response, given] = run ? await Promise.all([store.find(id), store.findInput(id)]) : [];
      if (run && response && given) {
        const attempt = new ResponseAttempt({ ...options, storage: traced }, run, {
          ...{ userId, response, input: given },
          models: onlyModels(models, deployments),
          dialogs: {
            ...{ store, maxBytes: maxDialogBytes, openMedia },
            // The route has checked the scopes.
            search: search(caller, { deployments, scopes: null }),
          },
        });
        await attempt.run({ requestId: id, userId, traceparent, deadlineAt, signal, meter });
      }
      return JSON.stringify({ response_id: id });
    },
  };
}
