import * as z from 'zod';
import type { ForCallers } from '../../../base/core/request-context.ts';
import { parseInput, type ServedEndpoint } from '../../../endpoints/registry/index.ts';
import type { Storage } from '../../../data/storage/index.ts';
import { IngestAttempt, type IngestOptions } from './ingest-attempt.ts';
import { IngestTask } from './ingest-task.ts';
import type { UserVectorStores } from './vector-stores.ts';

export interface IngestWorkOptions extends IngestOptions {
  readonly storage: Storage;
  /** The stores whose tasks have this work. */
  readonly stores: () => ForCallers<UserVectorStores>;
}

/** The path of the tasks that read files. It is the host's own, so no endpoint can have it, and no route runs it. */
const INGEST_PATH = '/v1/vector_stores';

/** Returns the work of the tasks that read files into vector stores. The output of a task is the id of its run. */
export function ingestWork({ stores, ...options }: IngestWorkOptions): ServedEndpoint {
  return {
    name: 'vector_stores',
    path: INGEST_PATH,
    summary: 'Reads files into a vector store',
    description: '',
    inputSchema: z.toJSONSchema(IngestTask),
    outputSchema: { type: 'object' },
    streaming: false,
    validate: (input) => parseInput(IngestTask, input),
    run: async ({ input, userId, signal, traceparent, deadlineAt, meter }) => {
      const { run_id: id, deployments: names } = input as IngestTask;
      const deployments = names && new Set(names);
      const storage = options.storage.inTrace(traceparent);
      const lease = await storage.write((repositories) => repositories.vectorStoreFilesOf(userId).begin(id));
      if (lease) {
        const scope = {
          userId,
          deployments,
          renew: (store, model) => stores().as({ userId, traceparent }).renew(store, model, deployments),
        } satisfies ConstructorParameters<typeof IngestAttempt>[2];
        const context = { requestId: id, userId, traceparent, deadlineAt, signal, meter };
        await new IngestAttempt({ ...options, storage }, lease, scope).run(context);
      }
      return JSON.stringify({ run_id: id });
    },
  };
}
