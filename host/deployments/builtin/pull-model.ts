import type { PrepareContext } from '../class/deployment-definition.ts';

/** Fetches a model if need be, telling the deployment's progress; gives the path of its file. */
export async function pullModel(id: string, { models, signal, progress }: PrepareContext): Promise<string> {
  const { path } = await models.pull(id, {
    signal,
    onProgress: (bytes, total, stage) =>
      progress(total ? Math.min(1, bytes / total) : undefined, `${id}: ${stage ?? 'fetching'}`),
  });
  return path;
}
