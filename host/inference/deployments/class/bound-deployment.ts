import type * as z from 'zod';
import { fail } from '../../../base/core/errors.ts';
import { check } from './check.ts';
import type { DeploymentDefinition } from './deployment-definition.ts';
import { DeploymentOptions, type DeploymentOptionsInput } from './deployment-options.ts';
import { largestBatch, type MethodTable } from './method.ts';

/** A type of deployment with options. An application registers it under a name. */
export interface BoundDeployment<Methods extends MethodTable = MethodTable> {
  readonly definition: DeploymentDefinition<Methods>;
  /** Checked options with defaults; `user_config` is parsed with the definition's schema. */
  readonly options: DeploymentOptions;
}

/**
 * Argument of a class's `options`: the options of all deployments, and this class's configuration, as an object of its
 * configuration class or as JSON.
 */
export type OptionsOf<Config> = Omit<DeploymentOptionsInput, 'type' | 'user_config'> & {
  readonly user_config?: Config;
};

/**
 * Returns the definition with checked options. Throws `ValidationError`: its message starts with `what` and names the
 * key.
 */
export function bind<Methods extends MethodTable>(
  definition: DeploymentDefinition<Methods>,
  options: object,
  what: string,
): BoundDeployment<Methods> {
  const given: Record<string, unknown> = { ...options, type: definition.name };
  if (given['user_config'] !== undefined) given['user_config'] = plain(given['user_config']);
  const checked = check(DeploymentOptions, given, what);
  const config = check(definition.configSchema, checked.user_config, `${what}: user_config`) as z.infer<
    typeof DeploymentOptions
  >['user_config'];
  const batch = largestBatch(definition.methods);
  if (batch && (checked.max_ongoing_requests ?? Infinity) < batch.maxBatchSize)
    throw fail(
      'ValidationError',
      `${what}: max_ongoing_requests: must be at least ${batch.maxBatchSize}, the maxBatchSize of ${batch.method}`,
    );
  const served = (definition.variant?.(config) ?? definition) as DeploymentDefinition<Methods>;
  const handles = boundHandles(served, checked.handles, what);
  return { definition: served, options: { ...checked, ...(handles && { handles }), user_config: config } };
}

/** Returns the names of the deployments that a deployment calls, by the keys of its handles. */
function boundHandles(
  { name, handles: own = {}, optionalHandles: optional = {} }: DeploymentDefinition,
  given: Readonly<Record<string, string>> = {},
  what: string,
): Readonly<Record<string, string>> | undefined {
  const possible = { ...own, ...optional };
  for (const key of Object.keys(given))
    if (!Object.hasOwn(possible, key))
      throw fail(
        'ValidationError',
        `${what}: handles.${key}: ${name} has no handle of this key; its handles are: ${keysOf(possible)}`,
      );
  const handles = { ...own, ...given };
  return Object.keys(handles).length === 0 ? undefined : handles;
}

const keysOf = (handles: object): string => Object.keys(handles).join(', ') || 'none';

/** Returns the deployment that reads texts in images for one whose model sees none. Undefined if there is none. */
export const imageReaderOf = ({ definition, options }: BoundDeployment): string | undefined =>
  definition.optionalHandles?.['ocr'] === undefined ? undefined : options.handles?.['ocr'];

/** Binds an entry of `deployments` in the configuration file. Its `type` is the name of one of the `definitions`. */
export function boundFrom(
  entry: DeploymentOptionsInput,
  definitions: ReadonlyMap<string, DeploymentDefinition>,
  what: string,
): BoundDeployment {
  const { type } = check(DeploymentOptions, entry, what);
  const definition = definitions.get(type);
  if (!definition)
    throw fail(
      'ValidationError',
      `${what}: type: unknown type ${type}; known types are ${[...definitions.keys()].join(', ')}`,
    );
  return bind(definition, entry, what);
}

export function isBound(deployment: object): deployment is BoundDeployment {
  return 'definition' in deployment && 'options' in deployment;
}

/** Returns the JSON of an object of a configuration class, and other values unchanged. */
function plain(config: unknown): unknown {
  return typeof config === 'object' && config !== null && 'toJSON' in config && typeof config.toJSON === 'function'
    ? config.toJSON()
    : config;
}
