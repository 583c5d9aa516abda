import * as z from 'zod';
import type { DeploymentDefinition } from './deployment-definition.ts';
import type { MethodDefinition, MethodTable } from './method.ts';

/** A method, for people and programs that do not have its types. */
export interface MethodDescription {
  readonly description: string;
  readonly streaming: boolean;
  /** JSON Schema (2020-12) of the parameters. */
  readonly inputSchema: object;
  /** JSON Schema of the result, or of one streamed value. */
  readonly outputSchema: object;
}

/** What a kind of deployment can be told and asked. */
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
    };
    described.set(method, description);
  }
  return description;
}

/** What JSON Schema cannot say becomes `{}`, or throws. */
export function jsonSchemaOf(
  schema: z.core.$ZodType,
  io: 'input' | 'output',
  unrepresentable: 'any' | 'throw' = 'any',
): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(schema, { io, unrepresentable });
}
