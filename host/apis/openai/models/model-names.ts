import { type AanaError, fail } from '../../../base/core/errors.ts';
import type { ModelDirectory, ServedModel } from '../../../inference/deployments/index.ts';
import { CAPABILITIES, capabilitiesOf, type Capability } from './capabilities.ts';
import { invalidValue } from '../fields.ts';

/** A name of a request, resolved. */
export interface ResolvedModel {
  readonly model: ServedModel;
  /** The adapter that the name has; undefined for the model itself. */
  readonly adapter: string | undefined;
}

/**
 * Returns the model of a name: a deployment, an alias, the id of a model, or one of these with an adapter
 * (`model:adapter`). Throws `UnknownModel`, which says what to deploy, if no model that can do `capability` has the
 * name.
 */
export function resolveModel(directory: ModelDirectory, name: string, capability: Capability): ResolvedModel {
  const found = findModel(directory, name, capability);
  if (!found) throw modelNotFound(directory, name, capability);
  if (capabilitiesOf(found.model.methods).includes(capability)) return found;
  throw fail(
    'UnknownModel',
    `The model ${JSON.stringify(shown(name))} is the deployment ${found.model.name}, which cannot do ${capability}: ` +
      `${whatToDo(directory, capability)}`,
    { data: { param: 'model' } },
  );
}

/**
 * Returns the model of a name, whatever it can do; undefined if there is none. Of several deployments of the same
 * model, one that can do `capability` comes first.
 */
export function findModel(directory: ModelDirectory, name: string, capability?: Capability): ResolvedModel | undefined {
  const models = directory.list();
  const fits = ({ methods }: ServedModel): boolean =>
    capability !== undefined && capabilitiesOf(methods).includes(capability);
  const whole = (text: string): ServedModel | undefined => {
    const ofId = models.filter(({ modelId }) => modelId === text);
    return models.find((model) => model.name === text) ?? ofId.find(fits) ?? ofId[0];
  };
  const { aliases } = directory;
  const named = (text: string): ResolvedModel | undefined => {
    const model = whole(text);
    if (model) return { model, adapter: undefined };
    for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) {
      const base = text.slice(0, at);
      const adapter = text.slice(at + 1);
      const based = whole(Object.hasOwn(aliases, base) ? aliases[base]! : base);
      if (based?.adapters.includes(adapter)) return { model: based, adapter };
    }
    return undefined;
  };
  const deployment = models.find((model) => model.name === name);
  if (deployment) return { model: deployment, adapter: undefined };
  return named(Object.hasOwn(aliases, name) ? aliases[name]! : name);
}

/** Returns the first deployment that can do something. Throws `InvalidParameter` for the parameter that asks for it. */
export function deploymentFor(directory: ModelDirectory, capability: Capability, param: string): ServedModel {
  const found = directory.list().find(({ methods }) => capabilitiesOf(methods).includes(capability));
  if (!found) throw invalidValue(param, whatToDo(directory, capability));
  return found;
}

/** The names that clients can give, each with its model: deployments, then aliases, then adapters. */
export function modelNames(directory: ModelDirectory): readonly (ResolvedModel & { readonly id: string })[] {
  const models = directory.list();
  const taken = new Set(models.map(({ name }) => name));
  return [
    ...models.map((model) => ({ id: model.name, model, adapter: undefined })),
    ...Object.keys(directory.aliases).flatMap((id) => {
      const found = taken.has(id) ? undefined : findModel(directory, id);
      return found ? [{ id, ...found }] : [];
    }),
    ...models.flatMap((model) => model.adapters.map((adapter) => ({ id: `${model.name}:${adapter}`, model, adapter }))),
  ];
}

const MAX_SHOWN = 200;
const shown = (name: string): string => (name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name);

/** Returns the error for a name that no model has. */
export function modelNotFound(directory: ModelDirectory, name: string, capability?: Capability): AanaError {
  const help = capability === undefined ? knownNames(modelNames(directory)) : whatToDo(directory, capability);
  return fail('UnknownModel', `The model ${JSON.stringify(shown(name))} does not exist: ${help}`, {
    data: { param: 'model' },
  });
}

function whatToDo(directory: ModelDirectory, capability: Capability): string {
  const able = modelNames(directory).filter(({ model }) => capabilitiesOf(model.methods).includes(capability));
  if (able.length > 0) return knownNames(able);
  return `no deployment of this server can do ${capability}; add ${CAPABILITIES[capability].deploy} to its deployments`;
}

function knownNames(models: readonly { readonly id: string }[]): string {
  if (models.length === 0) return 'this server has no deployments';
  return `the models are ${models
    .slice(0, 20)
    .map(({ id }) => id)
    .join(', ')}${models.length > 20 ? ' and others, which /v1/models lists' : ''}`;
}
