import type { Config } from '../../base/config/index.ts';
import { errorLogFields, faultOf } from '../../base/core/errors.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Counter, Telemetry } from '../../base/core/telemetry.ts';
import {
  type BoundDeployment,
  type DeploymentManager,
  type ModelDirectory,
  modelName,
  type ServedModel,
} from '../../inference/deployments/index.ts';

/** A directory whose aliases may change. */
export interface AppModels extends ModelDirectory {
  configure(config: Pick<Config['openai'], 'aliases'>): void;
}

/** Returns the counter of requests that another model of their alias got. */
export function fallbackCounter(telemetry: Telemetry): Counter {
  return telemetry.counter('aana.model.fallbacks', {
    unit: '{request}',
    description: 'Requests that a fallback of their alias got, by the deployment that did not answer and the cause.',
    attributes: ['aana.model', 'aana.deployment', 'aana.outcome'],
  });
}

export interface ModelDirectoryOptions {
  readonly deployments: DeploymentManager;
  readonly aliases: Config['openai']['aliases'];
  readonly log: Logger;
  readonly telemetry: Telemetry;
}

/** Returns the deployments as the models of OpenAI's API. */
export function modelDirectory({ deployments, aliases: first, log, telemetry }: ModelDirectoryOptions): AppModels {
  let aliases = first;
  const counted = fallbackCounter(telemetry);
  return {
    get aliases() {
      return aliases;
    },
    configure: (config) => void (aliases = config.aliases),
    list() {
      const states = deployments.status();
      return [...deployments.registered()].map(([name, bound]) =>
        servedModel(name, bound, states[name]?.status ?? 'NOT_STARTED'),
      );
    },
    call: (deployment, method, args, options) => deployments.handle(deployment).call(method, args, options),
    stream: (deployment, method, args, options) => deployments.handle(deployment).stream(method, args, options),
    onFallback({ alias, from, to, error, requestId }) {
      log.warn('request goes to a fallback', { model: alias, from, to, requestId, ...errorLogFields(error) });
      counted.add(1, { 'aana.model': alias, 'aana.deployment': from, 'aana.outcome': faultOf(error) });
    },
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
