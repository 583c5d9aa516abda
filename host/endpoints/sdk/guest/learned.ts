import type * as z from 'zod/mini';
import { answerKindsOf } from '../capabilities/deployments.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import type { EndpointFacts } from './described.ts';
import { formOf } from './form-of.ts';

type Schemas = { readonly input: z.ZodMiniType; readonly output: z.ZodMiniType };

const learned: Record<string, EndpointFacts> = {};

/** Defines an endpoint, and keeps the facts about its schemas under `call` if data express them. */
export function learn(call: string, definition: Parameters<typeof defineEndpoint>[0] & Schemas): Endpoint {
  const endpoint = defineEndpoint(definition);
  const [input, output] = [formOf(definition.input), formOf(definition.output)];
  const { inputSchema, outputSchema } = endpoint.info;
  if (input && output && [inputSchema, outputSchema].every((text) => refersOnly(JSON.parse(text))))
    learned[call] = { inputSchema, outputSchema, input, output, answers: answerKindsOf(definition.output) };
  return endpoint;
}

const besideReference = new Set(['$ref', 'default', 'title', 'description', 'examples', 'deprecated']);

/** Whether no reference of a JSON Schema has checks beside it, which the host does not read. */
function refersOnly(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return true;
  if ('$ref' in schema && !Object.keys(schema).every((key) => besideReference.has(key))) return false;
  return Object.values(schema).every(refersOnly);
}

/** Returns the facts as JSON. The build calls it when it has evaluated the bundle. */
(globalThis as { aanaLearned?: () => string }).aanaLearned = () => JSON.stringify(learned);
