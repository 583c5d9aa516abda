import * as z from 'zod';
import type { DeploymentDefinition } from './deployment-definition.ts';
import type { MethodDefinition, MethodTable } from './method.ts';

/** Description of a method for people, and for programs that do not have its types. */
export interface MethodDescription {
  readonly description: string;
  readonly streaming: boolean;
  /** JSON Schema (2020-12) of the parameters. */
  readonly inputSchema: object;
  /** JSON Schema of the result, or of one streamed value. */
  readonly outputSchema: object;
  /** Further argument whose values the caller sends while the method runs. */
  readonly feed?:
    | {
        readonly name: string;
        /** JSON Schema of one value. */
        readonly valueSchema: object;
      }
    | undefined;
}

/** Description of a type of deployment: its configuration and its methods. */
export interface DeploymentDescription {
  readonly type: string;
  /** JSON Schema of `user_config`. */
  readonly configSchema: object;
  readonly methods: Readonly<Record<string, MethodDescription>>;
}

export function describeDeployment({ name, configSchema, methods }: DeploymentDefinition): DeploymentDescription {
  return { type: name, configSchema: jsonSchemaOf(configSchema, 'input'), methods: describeMethods(methods) };
}

const described = new WeakMap<MethodDefinition, MethodDescription>();

export function describeMethods(methods: MethodTable): Readonly<Record<string, MethodDescription>> {
  return Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, describeMethod(method)]));
}

function describeMethod(method: MethodDefinition): MethodDescription {
  let description = described.get(method);
  if (!description) {
    description = {
      description: method.description,
      streaming: method.streaming,
      inputSchema: jsonSchemaOf(method.input, 'input'),
      outputSchema: jsonSchemaOf(method.output, 'output'),
      ...(method.feed && { feed: { name: method.feed.name, valueSchema: jsonSchemaOf(method.feed.value, 'input') } }),
    };
    described.set(method, description);
  }
  return description;
}

/**
 * Returns the JSON Schema. Types that JSON Schema cannot express become `{}`, or throw with `unrepresentable: 'throw'`.
 */
export function jsonSchemaOf(
  schema: z.core.$ZodType,
  io: 'input' | 'output',
  unrepresentable: 'any' | 'throw' = 'any',
): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(schema, { io, unrepresentable });
}
