import type { PrepareContext } from '../class/deployment-definition.ts';

/** Returns the path of a model's file. Fetches the model if necessary, and reports the progress. */
export async function pullModel(id: string, { models, signal, progress }: PrepareContext): Promise<string> {
  const { path } = await models.pull(id, {
    signal,
    onProgress: (bytes, total, stage) =>
      progress(total ? Math.min(1, bytes / total) : undefined, `${id}: ${stage ?? 'fetching'}`),
  });
  return path;
}
