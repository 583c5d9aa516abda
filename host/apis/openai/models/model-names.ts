import { type AanaError, fail } from '../../../base/core/errors.ts';
import type { ModelAlias, ModelDirectory, ServedModel } from '../../../inference/deployments/index.ts';
import { MAX_NAME } from '../../../base/schemas/bounds.ts';
import { CAPABILITIES, capabilitiesOf, type Capability } from './capabilities.ts';
import { invalidValue } from '../fields.ts';

/** A name of a request, resolved. */
export interface ResolvedModel {
  readonly model: ServedModel;
  /** The adapter that the name has; undefined for the model itself. */
  readonly adapter: string | undefined;
}

/** The models that a name stands for, those first that can do what is asked. */
export interface NamedModels {
  /** The models of which one is chosen, with their weights. */
  readonly choices: readonly { readonly found: ResolvedModel; readonly weight: number }[];
  /** Models that answer in turn when the chosen one does not. */
  readonly fallbacks: readonly ResolvedModel[];
  /** Milliseconds until a model must begin to answer. */
  readonly fallbackAfterMs: number | undefined;
}

/**
 * Returns the model of a name: a deployment, an alias, the id of a model, or one of these with an adapter
 * (`model:adapter`). Of the models of an alias, this is the one with the most weight. Throws `UnknownModel`, which says
 * what to deploy, if no model that can do `capability` has the name.
 */
export function resolveModel(directory: ModelDirectory, name: string, capability: Capability): ResolvedModel {
  return heaviest(resolveModels(directory, name, capability))!;
}

/** Returns the models of a name that can do `capability`, at least one. Throws like {@link resolveModel}. */
export function resolveModels(directory: ModelDirectory, name: string, capability: Capability): NamedModels {
  const named = namedModels(directory, name, capability);
  const first = heaviest(named);
  if (!first) throw modelNotFound(directory, name, capability);
  const can = (found: ResolvedModel): boolean => capabilitiesOf(found.model.methods).includes(capability);
  const able = onlyThose(named, can);
  if (heaviest(able)) return able;
  throw fail(
    'UnknownModel',
    `The model ${JSON.stringify(shown(name))} is the deployment ${first.model.name}, which cannot do ${capability}: ` +
      `${whatToDo(directory, capability)}`,
    { data: { param: 'model' } },
  );
}

/** Returns the part of some models that `isKept` returns true for. */
export function onlyThose(
  { choices, fallbacks, fallbackAfterMs }: NamedModels,
  isKept: (found: ResolvedModel) => boolean,
): NamedModels {
  return {
    choices: choices.filter(({ found }) => isKept(found)),
    fallbacks: fallbacks.filter(isKept),
    fallbackAfterMs,
  };
}

/**
 * Returns the model of a name, whatever it can do; undefined if there is none. Of several deployments of the same
 * model, one that can do `capability` comes first.
 */
export function findModel(directory: ModelDirectory, name: string, capability?: Capability): ResolvedModel | undefined {
  return heaviest(namedModels(directory, name, capability));
}

function heaviest({ choices, fallbacks }: NamedModels): ResolvedModel | undefined {
  return choices.toSorted((one, other) => other.weight - one.weight)[0]?.found ?? fallbacks[0];
}

function namedModels(directory: ModelDirectory, name: string, capability: Capability | undefined): NamedModels {
  const models = directory.list();
  const fits = ({ methods }: ServedModel): boolean =>
    capability !== undefined && capabilitiesOf(methods).includes(capability);
  const whole = (text: string): ServedModel | undefined => {
    const ofId = models.filter(({ modelId }) => modelId === text);
    const started = models.find((model) => model.name === text) ?? ofId.find(fits) ?? ofId[0];
    return started ?? directory.onDemand?.find(text, capability === undefined ? [] : CAPABILITIES[capability].methods);
  };
  const aliasOf = (text: string): ModelAlias | undefined => {
    const alias = Object.hasOwn(directory.aliases, text) ? directory.aliases[text] : undefined;
    return typeof alias === 'string' ? only(alias) : alias;
  };
  /** Calls `find` with the name before each colon of a name and with what follows it. */
  const split = <T>(text: string, find: (base: string, adapter: string) => T | undefined): T | undefined => {
    for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) {
      const found = find(text.slice(0, at), text.slice(at + 1));
      if (found) return found;
    }
    return undefined;
  };
  const adapted = (base: string, adapter: string): ResolvedModel | undefined => {
    const model = whole(base);
    return model?.adapters.includes(adapter) ? { model, adapter } : undefined;
  };
  const named = (text: string): ResolvedModel | undefined => {
    const model = whole(text);
    return model ? { model, adapter: undefined } : split(text, adapted);
  };
  const all = (alias: ModelAlias, find: (text: string) => ResolvedModel | undefined): NamedModels => ({
    choices: alias.deployments.flatMap(({ name: text, weight }) => {
      const found = find(text);
      return found && weight > 0 ? [{ found, weight }] : [];
    }),
    fallbacks: alias.fallbacks.flatMap((text) => find(text) ?? []),
    fallbackAfterMs: alias.fallback_after_s === null ? undefined : alias.fallback_after_s * 1000,
  });
  if (name.length > MAX_NAME) return { choices: [], fallbacks: [], fallbackAfterMs: undefined };
  const deployment = models.find((model) => model.name === name);
  if (deployment) return all(only(name), named);
  const alias = aliasOf(name);
  if (alias) return all(alias, named);
  const ofAlias = split(name, (base, adapter) => {
    const based = aliasOf(base);
    const found = based && all(based, (text) => adapted(text, adapter));
    return found && heaviest(found) ? found : undefined;
  });
  return ofAlias ?? all(only(name), named);
}

/** Returns the alias that stands for one name. */
const only = (name: string): ModelAlias => ({
  deployments: [{ name, weight: 1 }],
  fallbacks: [],
  fallback_after_s: null,
});

/** Returns the first deployment that can do something. Throws `InvalidParameter` for the parameter that asks for it. */
export function deploymentFor(directory: ModelDirectory, capability: Capability, param: string): ServedModel {
  const found = directory.list().find(({ methods }) => capabilitiesOf(methods).includes(capability));
  if (!found) throw invalidValue(param, whatToDo(directory, capability));
  return found;
}

/**
 * The names that clients can give, each with its model: deployments, then aliases, then models that a request starts,
 * then adapters.
 */
export function modelNames(directory: ModelDirectory): readonly (ResolvedModel & { readonly id: string })[] {
  const models = directory.list();
  const taken = new Set(models.map(({ name }) => name));
  const further = new Set([...Object.keys(directory.aliases), ...(directory.onDemand?.names() ?? [])]);
  return [
    ...models.map((model) => ({ id: model.name, model, adapter: undefined })),
    ...[...further].flatMap((id) => {
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
