import type { Config } from '../../base/config/index.ts';
import {
  type BoundDeployment,
  type DeploymentManager,
  type ModelDirectory,
  modelName,
  type ServedModel,
} from '../../inference/deployments/index.ts';

/** Returns the deployments as the models of OpenAI's API. */
export function modelDirectory(
  deployments: DeploymentManager,
  { aliases }: Pick<Config['openai'], 'aliases'>,
): ModelDirectory {
  return {
    aliases,
    list() {
      const states = deployments.status();
      return [...deployments.registered()].map(([name, bound]) =>
        servedModel(name, bound, states[name]?.status ?? 'NOT_STARTED'),
      );
    },
    call: (deployment, method, args, options) => deployments.handle(deployment).call(method, args, options),
    stream: (deployment, method, args, options) => deployments.handle(deployment).stream(method, args, options),
  };
}

/** Keys of `user_config` that name a model, in the built-in types and usually in those of applications. */
const MODEL_KEYS = ['model_id', 'model_size', 'model'] as const;

function servedModel(name: string, { definition, options }: BoundDeployment, state: string): ServedModel {
  const config = options.user_config as Readonly<Record<string, unknown>>;
  const { adapters, default_sampling_params: defaults } = config;
  const maxTokens = isObject(defaults) ? defaults['max_tokens'] : undefined;
  const modelId = MODEL_KEYS.map((key) => config[key]).find((id) => typeof id === 'string');
  return {
    name,
    state,
    modelId: modelId === undefined ? undefined : modelName(modelId),
    methods: new Set(Object.keys(definition.methods)),
    adapters: isObject(adapters) ? Object.keys(adapters) : [],
    takesImages: definition.takesImages?.(options.user_config) === true,
    maxTokens: typeof maxTokens === 'number' ? maxTokens : undefined,
  };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
