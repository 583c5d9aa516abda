import * as z from 'zod';
import { type BoundDeployment, imageReaderOf, modelName, type ServedModel } from '../../inference/deployments/index.ts';

/** Keys of `user_config` that name a model, in the built-in types and usually in those of applications. */
const MODEL_KEYS = ['model_id', 'model_size', 'model'] as const;

/** Returns a deployment as those see it who look for a model. */
export function servedModel(
  name: string,
  bound: BoundDeployment,
  { state, takesAudio }: Pick<ServedModel, 'state' | 'takesAudio'>,
): ServedModel {
  const { definition, options } = bound;
  const areRead = imageReaderOf(bound) !== undefined;
  const config = options.user_config as Readonly<Record<string, unknown>>;
  const { adapters, default_sampling_params: defaults } = config;
  const maxTokens = isObject(defaults) ? defaults['max_tokens'] : undefined;
  const modelId = MODEL_KEYS.map((key) => config[key]).find((id) => typeof id === 'string');
  return {
    name,
    state,
    modelId: modelId === undefined ? undefined : modelName(modelId),
    methods: new Set(Object.keys(definition.methods)),
    takesInputTypes: hasParameter(definition.methods['embed_batch']?.input, 'input_type'),
    adapters: isObject(adapters) ? Object.keys(adapters) : [],
    takesImages: areRead || definition.takesImages?.(options.user_config) === true,
    takesTextsOfImages: areRead,
    takesAudio,
    maxTokens: typeof maxTokens === 'number' ? maxTokens : undefined,
  };
}

/** Classes of applications may have methods for embeddings with fewer parameters. */
function hasParameter(input: unknown, name: string): boolean {
  return input instanceof z.ZodObject && Object.hasOwn(input.shape, name);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
