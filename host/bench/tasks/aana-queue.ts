// Our queue in a separate process. Started by ../tasks.ts, which sends it jobs.
import * as z from 'zod';
import { silentLogger } from '../../base/core/log/logger.ts';
import { FolderStore } from '../../data/objects/index.ts';
import { EndpointRegistry, hostEndpoint } from '../../endpoints/registry/index.ts';
import { loadConfig } from '../../base/config/index.ts';
import { buildSqlite } from '../../setup/native-build/index.ts';
import { Storage } from '../../data/storage/index.ts';
import { TaskQueue } from '../../data/tasks/index.ts';
import { WORKERS } from './protocol.ts';
import { type MeasuredQueue, serveJobs } from './run-job.ts';

await serveJobs(async ({ database, folder }) => {
  const { cache_dir: cacheDir, task_queue: config } = loadConfig({ cwd: folder });
  const storage = new Storage({
    config: database,
    log: silentLogger,
    sqliteModule: () => buildSqlite({ cacheDir, log: silentLogger }),
  });
  const endpoints = new EndpointRegistry();
  const endpoint = hostEndpoint({
    name: 'noop',
    path: '/noop',
    summary: 'Does nothing',
    input: z.strictObject({ n: z.int() }),
    output: z.null(),
    run: async ({ n }) => {
      measured.onRun(n);
      return null;
    },
  });
  endpoints.add(endpoint);
  const queue = new TaskQueue({
    storage,
    endpoints,
    objects: new FolderStore(folder),
    config: { ...config, num_workers: WORKERS },
    log: silentLogger,
    signal: new AbortController().signal,
  });
  const tasks = queue.as({ userId: null });
  const measured: MeasuredQueue = {
    onRun: () => {},
    add: async (n) => void (await tasks.enqueue(endpoint, { input: { n }, files: new Map() })),
    completed: async () => (await tasks.count()).completed ?? 0,
    close: async () => {
      await queue.stop(0);
      await storage.close();
    },
  };
  await queue.start();
  return measured;
});
