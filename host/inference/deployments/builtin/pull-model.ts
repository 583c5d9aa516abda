import { partNames } from '../../../base/core/model-files/split-file-names.ts';
import { chosenWeightType, type WeightWish } from '../../../base/core/model-files/weight-types.ts';
import { hasEngineKernels } from '../../devices/index.ts';
import type { PrepareContext, PulledModel, PullOptions } from '../class/deployment-definition.ts';
import { readGgufHeader } from './gguf-header.ts';

type Types = Pick<PullOptions, 'weightType' | 'whisperType' | 'projector' | 'form'>;

/** Returns the path of a model's file. Fetches the model if necessary, and reports the progress. */
export const pullModel = async (id: string, context: PrepareContext, options: Types = {}): Promise<string> =>
  (await pull(id, context, options)).path;

const pull = (id: string, { models, signal, progress }: PrepareContext, options: Types): Promise<PulledModel> =>
  models.pull(id, {
    signal,
    ...options,
    onProgress: (bytes, total, stage) =>
      progress(total ? Math.min(1, bytes / total) : undefined, `${id}: ${stage ?? 'fetching'}`),
  });

/** The part of a replica's spec that says where the weights of a GGUF model are. */
export interface WeightsSpec {
  readonly model_path: string;
  /** File of the weights as the kernels of processors need them, for a model of the store. Replicas make it. */
  readonly packed_path?: string;
}

/**
 * Pulls a GGUF model whose weights have the type that the configuration asks for. Such a model is written once and
 * kept.
 */
export async function pullWeights(id: string, wish: WeightWish, context: PrepareContext): Promise<WeightsSpec> {
  const model = await pull(id, context, {});
  if (!wish.load_in_4bit && !wish.load_in_8bit && wish.weight_type === undefined) return weightsSpec(model);
  const fileType = (await readGgufHeader(model.path))?.get('general.file_type');
  const place = context.numGpus > 0 ? 'gpu' : hasEngineKernels() ? 'cpu-kernels' : 'cpu';
  const type = chosenWeightType(wish, typeof fileType === 'number' ? fileType : undefined, place);
  return weightsSpec(type === undefined ? model : await pull(id, context, { weightType: type }));
}

function weightsSpec({ path, sha256 }: PulledModel): WeightsSpec {
  const isWhole = partNames(path).length === 1; // the addon names the content of one file
  return { model_path: path, ...(sha256 !== undefined && isWhole && { packed_path: `${path}.packed` }) };
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
