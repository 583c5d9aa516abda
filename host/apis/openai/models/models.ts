import * as z from 'zod';
import { CAPABILITIES, capabilitiesOf, type Capability } from './capabilities.ts';
import { findModel, modelNames, modelNotFound, type ResolvedModel } from './model-names.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';

/** A model in the answers of `/v1/models`: OpenAI's keys, then ours. */
export const Model = z.object({
  id: z.string().describe('The name for requests: a deployment, an alias, or `deployment:adapter`.'),
  object: z.literal('model'),
  created: z.int().describe('Seconds since the epoch.'),
  owned_by: z.string(),
  deployment: z.string(),
  model: z.string().nullable().describe('Id of the model that the deployment has loaded.'),
  adapter: z.string().nullable(),
  state: z.string().describe('State of the deployment, such as RUNNING.'),
  capabilities: z
    .array(z.enum(Object.keys(CAPABILITIES) as [Capability, ...Capability[]]))
    .describe('What requests can ask of the model.'),
});
type Model = z.input<typeof Model>;

export const ModelList = z.object({ object: z.literal('list'), data: z.array(Model) });

/** Returns every name that requests can give, with its model. `created` is in seconds since the epoch. */
export function listModels(directory: ModelDirectory, created: number): z.input<typeof ModelList> {
  return { object: 'list', data: modelNames(directory).map(({ id, ...found }) => modelOf(id, found, created)) };
}

/** Returns the model of a name. Throws `UnknownModel`. */
export function describeModel(directory: ModelDirectory, id: string, created: number): Model {
  const found = findModel(directory, id);
  if (!found) throw modelNotFound(directory, id);
  return modelOf(id, found, created);
}

function modelOf(id: string, { model, adapter }: ResolvedModel, created: number): Model {
  return {
    id,
    object: 'model',
    created,
    owned_by: 'aana-host',
    deployment: model.name,
    model: model.modelId ?? null,
    adapter: adapter ?? null,
    state: model.state,
    capabilities: capabilitiesOf(model.methods),
  };
}
