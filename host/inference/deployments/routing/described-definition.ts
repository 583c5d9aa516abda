import * as z from 'zod';
import type { MethodDescription } from '../class/describe.ts';
import type { MethodDefinition } from '../class/method.ts';
import type { CallDefinition } from '../handle/deployment-calls.ts';
import type { DeploymentFacts } from './table.ts';

/** Returns the definition of a type that this process has; undefined for other types. */
export type DefinitionOf = (type: string) => CallDefinition | undefined;

/**
 * Returns the definition of a deployment with these facts: that of this process with the methods that the deployment
 * has, or else one that is made of its JSON Schemas. Those lack what JSON Schema cannot express, such as refinements.
 */
export function definitionFor(facts: DeploymentFacts, own: CallDefinition | undefined): CallDefinition {
  if (!own) return described(facts);
  const methods = Object.entries(own.methods).filter(([name]) => Object.hasOwn(facts.methods, name));
  return { ...own, methods: Object.fromEntries(methods) };
}

function described({ type, methods, isMultiplexed }: DeploymentFacts): CallDefinition {
  const definitions = Object.entries(methods).map(([name, method]) => [name, methodOf(method)]);
  return { name: type, isMultiplexed, methods: Object.fromEntries(definitions) };
}

function methodOf({ description, streaming, inputSchema, outputSchema, feed }: MethodDescription): MethodDefinition {
  return {
    description,
    streaming,
    input: schemaOf(inputSchema),
    output: schemaOf(outputSchema),
    feed: feed && { name: feed.name, value: schemaOf(feed.valueSchema) },
  };
}

const schemaOf = (schema: object): z.ZodType => z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema);
