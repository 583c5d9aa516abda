import { createHash } from 'node:crypto';
import { fail, faultOf, type Fault } from '../../../base/core/errors.ts';
import { tenantOf } from '../../../base/core/request-context.ts';
import type { ModelDirectory } from '../../../inference/deployments/index.ts';
import type { RunContext } from '../run-context.ts';
import type { Capability } from './capabilities.ts';
import { type NamedModels, onlyThose, type ResolvedModel, resolveModels } from './model-names.ts';

/** A message of a dialog, or another item of it. */
interface DialogItem {
  readonly role?: unknown;
  readonly content?: unknown;
}

/** What a request asks of a model. */
export interface ModelWish {
  /** The name in the request. */
  readonly name: string;
  readonly capability: Capability;
  /** The dialog of the request. Requests whose dialogs begin alike get the same model of an alias. */
  readonly dialog?: readonly DialogItem[];
}

/** The models that may answer a request. */
export interface ModelRoute {
  readonly models: ModelDirectory;
  readonly name: string;
  readonly chosen: ResolvedModel;
  /** The models that answer in turn when the chosen one does not. */
  readonly fallbacks: readonly ResolvedModel[];
  /** Milliseconds until a model must begin to answer. */
  readonly fallbackAfterMs: number | undefined;
}

/** Runs the work of a request with one model. Its calls have the context that it gets. */
type Work<T> = (resolved: ResolvedModel, context: RunContext) => Promise<T>;

/**
 * Chooses the model of a request among those of its name. Throws `UnknownModel` if no model that can do what the
 * request asks has the name.
 */
export function routeOf(
  models: ModelDirectory,
  { name, capability, dialog }: ModelWish,
  context: RunContext,
): ModelRoute {
  const able = sensing(resolveModels(models, name, capability), dialog);
  const { choices, fallbacks, fallbackAfterMs } = able;
  const key = choices.length > 1 ? `${name}\n${tenantOf(context)}\n${beginningOf(dialog)}` : '';
  const [chosen, ...others] = [...chosenOf(choices, key), ...fallbacks];
  const isNew = ({ model, adapter }: ResolvedModel, at: number): boolean =>
    ![chosen!, ...others.slice(0, at)].some((one) => one.model === model && one.adapter === adapter);
  return { models, name, chosen: chosen!, fallbacks: others.filter(isNew), fallbackAfterMs };
}

/** Runs work with the model of a request. See {@link routed}. */
export function withModel<T>(models: ModelDirectory, wish: ModelWish, context: RunContext, work: Work<T>): Promise<T> {
  return routed(routeOf(models, wish, context), context, work);
}

/**
 * Runs work with the chosen model. If it fails through no fault of the caller, or does not begin to answer in time, the
 * work runs with the next model. A stream that has begun has no other model. Rejects with the last error.
 */
export async function routed<T>(route: ModelRoute, context: RunContext, work: Work<T>): Promise<T> {
  const { models, name: alias, chosen, fallbacks } = route;
  let resolved = chosen;
  for (const next of fallbacks) {
    const { requestId } = context;
    const tried = await attempt(resolved, route, context, work);
    if ('value' in tried) return tried.value;
    models.onFallback?.({ alias, from: resolved.model.name, to: next.model.name, error: tried.error, requestId });
    resolved = next;
  }
  context.tellDeployment?.(resolved.model.name);
  return work(resolved, context);
}

/** Returns the result of work with a model, or the error after which another model may answer. */
async function attempt<T>(
  resolved: ResolvedModel,
  { fallbackAfterMs }: ModelRoute,
  context: RunContext,
  work: Work<T>,
): Promise<{ readonly value: T } | { readonly error: unknown }> {
  const { name } = resolved.model;
  const late = new AbortController();
  const timer = fallbackAfterMs && setTimeout(() => late.abort(tooLate(name, fallbackAfterMs)), fallbackAfterMs);
  let hasBegun = false;
  const begin = (): void => {
    hasBegun = true;
    clearTimeout(timer);
  };
  context.tellDeployment?.(name);
  try {
    const signal = AbortSignal.any([context.signal, late.signal]);
    return { value: await work(resolved, Object.assign({}, context, { begin, signal })) };
  } catch (error) {
    if (hasBegun || context.signal.aborted || !(late.signal.aborted || ELSEWHERE.has(faultOf(error)))) throw error;
    return { error: late.signal.aborted ? late.signal.reason : error };
  } finally {
    clearTimeout(timer);
  }
}

/** Faults after which the same request may succeed with another model. */
const ELSEWHERE: ReadonlySet<Fault> = new Set<Fault>(['deployment', 'replica-lost', 'dependency', 'overload']);

const tooLate = (deployment: string, ms: number): Error =>
  fail('DeadlineExceeded', `${deployment} did not begin to answer within ${ms / 1000} seconds`, {
    data: { model_name: deployment },
  });

/**
 * Returns the models that take what a dialog has, or all of them if none does. Models that only read the texts of
 * images are chosen where none sees them; otherwise they are fallbacks, if the alias says so.
 */
function sensing(named: NamedModels, dialog: ModelWish['dialog'] = []): NamedModels {
  const isOnlyOne = named.choices.length + named.fallbacks.length === 1;
  if (isOnlyOne) return named;
  const hasImages = dialog.some((item) => has(item, IMAGE_TYPES));
  const hasAudio = dialog.some((item) => has(item, AUDIO_TYPES));
  const able = onlyThose(named, ({ model }) => (!hasImages || model.takesImages) && (!hasAudio || model.takesAudio));
  if (able.choices.length + able.fallbacks.length === 0) return named;
  const seeing = able.choices.filter(({ found }) => !found.model.takesTextsOfImages);
  return hasImages && seeing.length > 0 ? { ...able, choices: seeing } : able;
}

/** Returns whether the models that may answer a request hear the audio of its dialog. Throws `UnknownModel`. */
export function hears(models: ModelDirectory, { name, capability, dialog }: ModelWish): boolean {
  const { choices, fallbacks } = sensing(resolveModels(models, name, capability), dialog);
  return [...choices.map(({ found }) => found), ...fallbacks].every(({ model }) => model.takesAudio);
}

const IMAGE_TYPES: ReadonlySet<unknown> = new Set(['image_url', 'video_url', 'input_image']);
const AUDIO_TYPES: ReadonlySet<unknown> = new Set(['input_audio']);

function has({ content }: DialogItem, types: ReadonlySet<unknown>): boolean {
  return Array.isArray(content) && content.some((part: { readonly type?: unknown }) => types.has(part.type));
}

/** Returns a text for a dialog up to its first message of the user, which later requests of it have, too. */
function beginningOf(dialog: ModelWish['dialog']): string {
  if (!dialog) return String(Math.random());
  const at = dialog.findIndex(({ role }) => role === 'user');
  return JSON.stringify(dialog.slice(0, at + 1 || undefined).map(({ role, content }) => [role, content]));
}

/**
 * Chooses by weighted rendezvous hashing: the same key has the same model, and a change of a weight moves only the keys
 * that it must move.
 */
function chosenOf(choices: NamedModels['choices'], key: string): ResolvedModel[] {
  const scores = choices.map(({ found, weight }) => -Math.log(fractionOf(key, found)) / weight);
  const least = scores.indexOf(Math.min(...scores));
  return choices.slice(least, least + 1).map(({ found }) => found);
}

/** Returns a number between 0 and 1, both excluded, that looks random and is always the same for its arguments. */
function fractionOf(key: string, { model, adapter = '' }: ResolvedModel): number {
  const digest = createHash('sha256').update(`${model.name}\n${adapter}\n${key}`).digest();
  return (digest.readUIntBE(0, 6) + 0.5) / 2 ** 48;
}
