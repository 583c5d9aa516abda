import { chosenWeightType, type WeightWish } from '../../../base/core/model-files/weight-types.ts';
import { hasEngineKernels } from '../../devices/index.ts';
import type { PrepareContext, PullOptions } from '../class/deployment-definition.ts';
import { readGgufHeader } from './gguf-header.ts';

/** Returns the path of a model's file. Fetches the model if necessary, and reports the progress. */
export async function pullModel(
  id: string,
  { models, signal, progress }: PrepareContext,
  options: Pick<PullOptions, 'weightType' | 'whisperType' | 'projector'> = {},
): Promise<string> {
  const { path } = await models.pull(id, {
    signal,
    ...options,
    onProgress: (bytes, total, stage) =>
      progress(total ? Math.min(1, bytes / total) : undefined, `${id}: ${stage ?? 'fetching'}`),
  });
  return path;
}

/**
 * Returns the path of a GGUF model whose weights have the type that the configuration asks for. Such a model is written
 * once and kept.
 */
export async function pullModelAs(id: string, wish: WeightWish, context: PrepareContext): Promise<string> {
  const path = await pullModel(id, context);
  if (!wish.load_in_4bit && !wish.load_in_8bit && wish.weight_type === undefined) return path;
  const fileType = (await readGgufHeader(path))?.get('general.file_type');
  const place = context.numGpus > 0 ? 'gpu' : hasEngineKernels() ? 'cpu-kernels' : 'cpu';
  const type = chosenWeightType(wish, typeof fileType === 'number' ? fileType : undefined, place);
  return type === undefined ? path : pullModel(id, context, { weightType: type });
}

/** Returns the path of the projector that `mmproj` names, or of the one that belongs to the model for `auto`. */
export async function pullProjector(
  mmproj: string | undefined,
  model: string,
  context: PrepareContext,
): Promise<string | undefined> {
  if (mmproj === undefined) return undefined;
  return mmproj === 'auto' ? pullModel(model, context, { projector: true }) : pullModel(mmproj, context);
}
