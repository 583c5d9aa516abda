import type * as z from 'zod';
import { fail } from '../../../base/core/errors.ts';
import { schemaOf } from './config-class.ts';
import type { DeploymentClass } from './deployment.ts';
import type { DeploymentDefinition } from './deployment-definition.ts';
import { jsonSchemaOf } from './describe.ts';
import { pullModel } from '../builtin/pull-model.ts';

/** Start parameters of a replica of a custom deployment. */
export interface CustomSpec {
  readonly module: string;
  readonly class: string;
  readonly config: unknown;
  readonly models: Readonly<Record<string, string>>;
}

/** Calls that one replica takes at the same time by default. */
const DEFAULT_MAX_ONGOING = 5;

/** Reserved names: hooks of the class, members of handles, and `then`, which would make a handle a promise. */
const RESERVED = new Set([
  'applyConfig',
  'warmUp',
  'reconfigure',
  'checkHealth',
  'dispose',
  'constructor',
  'name',
  'call',
  'stream',
  'methods',
  'then',
  '__proto__',
]);

type ClassWithPrototype = DeploymentClass & { readonly prototype: Readonly<Record<string, unknown>> };

const definitions = new WeakMap<DeploymentClass, DeploymentDefinition>();

/** Returns the definition of a deployment class. Throws `DeploymentClassError`, which names the fault of the class. */
export function definitionOf(deployment: DeploymentClass): DeploymentDefinition {
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
    maxOngoingRequests: () => deployment.maxOngoingRequests ?? DEFAULT_MAX_ONGOING,
    async prepare(config, context) {
      const models: Record<string, string> = {};
      for (const [key, id] of Object.entries(deployment.models?.(config as never) ?? {}))
        models[key] = await pullModel(id, context);
      return { module, class: name, config, models } satisfies CustomSpec;
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
  maxOngoingRequests = DEFAULT_MAX_ONGOING,
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
  if (!Number.isInteger(maxOngoingRequests) || maxOngoingRequests < 1 || maxOngoingRequests > 1000)
    refuse('static maxOngoingRequests must be a whole number from 1 to 1000');
  if (typeof methods !== 'object' || methods === null)
    refuse('static methods is missing; it is a table of methods made with method() and streamingMethod()');
  const { type: configType = 'object' } = jsonSchema(schemaOf(config), 'output', (why) => refuse(`config: ${why}`));
  if (configType !== 'object') refuse('config: an object schema is needed, with the keys of user_config');
  for (const [key, { input, output, end, feed }] of Object.entries(methods)) {
    if (RESERVED.has(key)) refuse(`a method cannot be called ${key}, because that name is reserved`);
    if (typeof prototype[key] !== 'function') refuse(`methods names ${key}, but the class has no such method`);
    const { type = 'object' } = jsonSchema(input, 'output', (why) => refuse(`input of ${key}: ${why}`));
    if (type !== 'object') refuse(`input of ${key}: an object schema is needed, with the parameters as keys`);
    jsonSchema(output, 'input', (why) => refuse(`output of ${key}: ${why}`));
    if (feed !== undefined) jsonSchema(feed.value, 'output', (why) => refuse(`feed of ${key}: ${why}`));
    if (end !== undefined) jsonSchema(end, 'input', (why) => refuse(`end of ${key}: ${why}`));
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
