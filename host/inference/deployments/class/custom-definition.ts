import * as z from 'zod/mini';
import { fail } from '../../../base/core/errors.ts';
import { type ConfigType, schemaOf } from './config-class.ts';
import type { DeploymentClass } from './deployment.ts';
import type { CalledDeployment, DeploymentDefinition } from './deployment-definition.ts';
import { jsonSchemaOf } from './describe.ts';
import { largestBatch, type MethodTable, MOST_BATCH_WAIT_S } from './method.ts';
import { pullModel } from '../builtin/pull-model.ts';

/** Start parameters of a replica of a custom deployment. */
export interface CustomSpec {
  readonly module: string;
  readonly class: string;
  readonly config: unknown;
  readonly models: Readonly<Record<string, string>>;
  /** Deployments that the class calls, by the keys of its handles. */
  readonly called: Readonly<Record<string, CalledDeployment>>;
}

const HandleNames = z.record(z.string(), z.string().check(z.minLength(1), z.maxLength(200)));

const MultiplexedLimits = z.strictObject({
  maxModels: z.int().check(z.minimum(1), z.maximum(1000)),
  maxBytes: z.optional(z.number().check(z.positive())),
});

/** Calls that one replica takes at the same time by default. */
const DEFAULT_MAX_ONGOING = 5;

/** Reserved names: hooks of the class, members of handles, and `then`, which would make a handle a promise. */
const RESERVED = new Set([
  'applyConfig',
  'warmUp',
  'reconfigure',
  'checkHealth',
  'dispose',
  'loadModel',
  'model',
  'handle',
  'constructor',
  'name',
  'call',
  'stream',
  'methods',
  'options',
  'then',
  '__proto__',
]);

const isWhole = (value: number): boolean => Number.isInteger(value) && value >= 1 && value <= 1000;

/** Returns the calls that one replica takes: those of the batch that it computes, and those of the next one. */
const defaultOngoing = (methods: MethodTable): number =>
  Math.min(1000, Math.max(DEFAULT_MAX_ONGOING, 2 * (largestBatch(methods)?.maxBatchSize ?? 0)));

type ClassWithPrototype = DeploymentClass & { readonly prototype: Readonly<Record<string, unknown>> };

const definitions = new WeakMap<DeploymentClass, DeploymentDefinition>();

/** Returns the definition of a deployment class. Throws `DeploymentClassError`, which names the fault of the class. */
export function definitionOf<C extends ConfigType, M extends MethodTable>(
  deployment: DeploymentClass<C, M>,
): DeploymentDefinition {
  let definition = definitions.get(deployment);
  if (!definition) {
    definition = makeDefinition(deployment);
    definitions.set(deployment, definition);
  }
  return definition;
}

function makeDefinition(deployment: DeploymentClass): DeploymentDefinition {
  checkClass(deployment as ClassWithPrototype);
  const { name, module, methods } = deployment;
  return {
    name,
    configSchema: schemaOf(deployment.config),
    methods,
    handles: deployment.handles,
    isMultiplexed: deployment.multiplexed !== undefined,
    maxOngoingRequests: () => deployment.maxOngoingRequests ?? defaultOngoing(methods),
    async prepare(config, context) {
      const models: Record<string, string> = {};
      for (const [key, id] of Object.entries(deployment.models?.(config as never) ?? {}))
        models[key] = await pullModel(id, context);
      return { module, class: name, config, models, called: context.called ?? {} } satisfies CustomSpec;
    },
    ...('reconfigure' in (deployment as ClassWithPrototype).prototype && { reconfigurable: 'all' as const }),
    affinity: (method, args) => deployment.affinity?.(method, args),
    implementation: new URL('../process/custom-deployment.js', import.meta.url),
  };
}

/** Checks the class at run time, because JavaScript checks no types and some rules cannot be expressed as types. */
function checkClass({
  name,
  module,
  config,
  methods,
  handles = {},
  multiplexed,
  maxOngoingRequests,
  prototype,
}: ClassWithPrototype): void {
  const refuse = (why: string): never => {
    throw fail('DeploymentClassError', `${name || 'a deployment class'}: ${why}`, {
      data: { class: name },
    });
  };
  if (name === '') refuse('the class needs a name, because replicas look for the export of that name');
  if (typeof module !== 'string' || !module.startsWith('file:'))
    refuse('static module = import.meta.url is missing; replicas import the class from that module');
  if (config === undefined) refuse('static config is missing; it is the zod schema of user_config');
  if (!isWhole(maxOngoingRequests ?? 1)) refuse('static maxOngoingRequests must be a whole number from 1 to 1000');
  if (multiplexed !== undefined && !MultiplexedLimits.safeParse(multiplexed).success)
    refuse('static multiplexed must be an object: { maxModels: 1 to 1000, maxBytes?: a number above 0 }');
  if ((multiplexed !== undefined) !== (typeof prototype['loadModel'] === 'function'))
    refuse('static multiplexed and the method loadModel need each other; one of them is missing');
  if (!HandleNames.safeParse(handles).success)
    refuse('static handles must be an object with names of deployments: { asr: "asr_deployment" }');
  if (typeof methods !== 'object' || methods === null)
    refuse('static methods is missing; it is a table of methods made with method() and streamingMethod()');
  const { type: configType = 'object' } = jsonSchema(schemaOf(config), 'output', (why) => refuse(`config: ${why}`));
  if (configType !== 'object') refuse('config: an object schema is needed, with the keys of user_config');
  for (const [key, { input, output, end, feed, maxBatchSize, batchWaitTimeoutS = 0 }] of Object.entries(methods)) {
    if (RESERVED.has(key)) refuse(`a method cannot be called ${key}, because that name is reserved`);
    if (typeof prototype[key] !== 'function') refuse(`methods names ${key}, but the class has no such method`);
    const { type = 'object' } = jsonSchema(input, 'output', (why) => refuse(`input of ${key}: ${why}`));
    if (type !== 'object') refuse(`input of ${key}: an object schema is needed, with the parameters as keys`);
    jsonSchema(output, 'input', (why) => refuse(`output of ${key}: ${why}`));
    if (feed !== undefined) jsonSchema(feed.value, 'output', (why) => refuse(`feed of ${key}: ${why}`));
    if (end !== undefined) jsonSchema(end, 'input', (why) => refuse(`end of ${key}: ${why}`));
    if (!isWhole(maxBatchSize ?? 1)) refuse(`maxBatchSize of ${key} must be a whole number from 1 to 1000`);
    if (typeof batchWaitTimeoutS !== 'number' || !(batchWaitTimeoutS >= 0 && batchWaitTimeoutS <= MOST_BATCH_WAIT_S))
      refuse(`batchWaitTimeoutS of ${key} must be a number from 0 to ${MOST_BATCH_WAIT_S}`);
    if (batchWaitTimeoutS > 0 && maxBatchSize === undefined)
      refuse(`batchWaitTimeoutS of ${key} has no effect without maxBatchSize`);
    if (maxBatchSize !== undefined && (end !== undefined || feed !== undefined))
      refuse(`${key} has maxBatchSize, and so can have neither end nor feed`);
    if (maxBatchSize !== undefined && maxOngoingRequests !== undefined && maxOngoingRequests < maxBatchSize)
      refuse(`static maxOngoingRequests must be at least ${maxBatchSize}, the maxBatchSize of ${key}`);
  }
}

/** Returns the JSON Schema. Refuses other schemas, because values go to replicas as JSON and would arrive changed. */
function jsonSchema(
  schema: z.core.$ZodType,
  io: 'input' | 'output',
  refuse: (why: string) => never,
): z.core.JSONSchema.BaseSchema {
  if (typeof schema !== 'object' || schema === null || !('_zod' in schema)) return refuse('a zod 4 schema is needed');
  try {
    return jsonSchemaOf(schema, io, 'throw');
  } catch (error) {
    return refuse(`its values must be plain JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}
