import type { Clock } from '../../../base/core/clock.ts';
import { errorLogFields, fail, faultOf } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { type RequestContext, requestContextOf, tenantOf } from '../../../base/core/request-context.ts';
import { withRequest } from '../../../base/core/async/request-scope.ts';
import type { CallMeter } from '../../../base/core/usage/usage-meter.ts';
import { type Counter, noTelemetry, type Telemetry } from '../../../base/core/telemetry.ts';
import {
  callWithRetry,
  type Reservation,
  type RetryOptions,
  type SetCallOptions,
  streamWithRetry,
} from '../../replicas/index.ts';
import type { ImageChatDialog } from '../../../base/schemas/index.ts';
import { check } from '../class/check.ts';
import type { CallOptions, DeploymentHandle } from './deployment-handle.ts';
import { figuresOf, heardSeconds } from './call-figures.ts';
import { CheckedFeed } from './checked-feed.ts';
import { type Generation, GenerationTelemetry } from './generation-telemetry.ts';
import {
  DecodedMeanwhile,
  type GrowingArgument,
  hasGrowingAudio,
  readyArguments,
  wholeArguments,
} from './growing-arguments.ts';
import { type HandleOptions, retryPolicy } from './handle-options.ts';
import { hasImages, type ImageReader, withImageTexts } from './image-texts.ts';
import { ReadTexts } from './read-texts.ts';
import { MultiplexedModelId } from './limited-handle.ts';
import type { DeploymentDefinition } from '../class/deployment-definition.ts';
import { tellUsage, withoutUsage } from './told-usage.ts';
import { TranscriptContent } from './transcript-content.ts';
import type { MethodDefinition } from '../class/method.ts';

/** A deployment as those see it who call it. */
export interface CalledSet {
  call(method: string, args: Record<string, unknown>, options: SetCallOptions): Promise<unknown>;
  stream(
    method: string,
    args: Record<string, unknown>,
    options: SetCallOptions,
  ): AsyncGenerator<unknown[], unknown, undefined>;
  reserve(context: RequestContext): Reservation;
}

/** What is needed of a type of deployment to call one. */
export type CallDefinition = Pick<
  DeploymentDefinition,
  'name' | 'methods' | 'isMultiplexed' | 'growingAudio' | 'affinity'
>;

export interface CallableDeployment {
  readonly name: string;
  readonly bound: { readonly definition: CallDefinition };
  /** The deployment that reads images for it; undefined if none does. */
  readonly imageReader: string | undefined;
  /** Whether the schemas of the methods are made of JSON Schemas, which lack some checks. Default: no. */
  readonly isDescribed?: boolean | undefined;
  /** Returns the replicas. Throws the error with which all calls are refused. */
  requireReplicas(): CalledSet;
}

export interface DeploymentCallsOptions {
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: () => number;
  /** Default: no reports. */
  readonly telemetry?: Telemetry | undefined;
  /** Returns the deployment that currently has the name. Throws when there is none. */
  find(name: string): CallableDeployment;
}

type Args = Record<string, unknown>;

interface OpenedCall {
  readonly replicas: CalledSet;
  readonly checked: Record<string, unknown>;
  readonly unchecked: string | undefined;
  readonly affinity: string | undefined;
  readonly feed: CheckedFeed | undefined;
  /** Undefined for methods that no model for texts answers. */
  readonly generation: Generation | undefined;
  /** Makes what collects a transcript; undefined where spans have none. */
  readonly contentOf: (() => TranscriptContent) | undefined;
  /** Undefined where usage is not recorded. */
  readonly metered: CallMeter | undefined;
  /** Whether the result tells the tokens only for the meter. */
  readonly isToldInside: boolean;
}

/** Returns the counter of calls that are made again. */
export function retryCounter(telemetry: Telemetry): Counter {
  return telemetry.counter('aana.deployment.call.retries', {
    unit: '{call}',
    description: 'Calls that were made again, by the cause of the failure before.',
    attributes: ['aana.deployment', 'aana.outcome'],
  });
}

/** Checks calls, sends them to replicas, and repeats a call whose replica was lost. */
export class DeploymentCalls {
  readonly #options: DeploymentCallsOptions;
  /** Undefined without telemetry, because a stream pays for each generator that it goes through. */
  readonly #generations: GenerationTelemetry | undefined;
  readonly #retries: Counter;
  readonly #takesContent: boolean;
  readonly #texts = new ReadTexts();

  constructor(options: DeploymentCallsOptions) {
    const { telemetry = noTelemetry, clock } = options;
    this.#options = options;
    this.#generations = telemetry === noTelemetry ? undefined : new GenerationTelemetry(telemetry, clock);
    this.#retries = retryCounter(telemetry);
    this.#takesContent = telemetry.takesContent ?? false;
  }

  /** Returns a handle to the deployment that has the name at the time of each call. */
  handle(name: string, policy: HandleOptions): DeploymentHandle {
    return {
      name,
      call: (method, args, given = {}) => {
        const options = limited(withRequest(given));
        const call = (ready: Args): Promise<unknown> =>
          hasGrowingAudio(ready)
            ? this.#callGrowing(name, method, ready, options, policy)
            : this.#call(name, method, ready, options, policy);
        return hasImages(args) ? this.#withTexts(name, method, args, options, policy).then(call) : call(args);
      },
      stream: (method, args, given = {}) => {
        const options = limited(withRequest(given)); // now, because a stream may be read in another request's code
        const stream = (ready: Args): AsyncGenerator<unknown[], unknown, undefined> =>
          hasGrowingAudio(ready)
            ? this.#streamGrowing(name, method, ready, options, policy)
            : this.#stream(name, method, ready, options, policy);
        if (!hasImages(args)) return stream(args);
        const read = (): Promise<Args> => this.#withTexts(name, method, args, options, policy);
        return (async function* () {
          return yield* stream(await read());
        })();
      },
    };
  }

  /**
   * Reserves room for a call that follows other work of its request. Throws the error with which the call would be
   * refused now.
   */
  reserve(name: string, context: RequestContext): Reservation {
    return this.#options.find(name).requireReplicas().reserve(context);
  }

  async #call(
    name: string,
    method: string,
    args: Record<string, unknown>,
    { places, ...options }: CallOptions,
    policy: HandleOptions,
    growing?: GrowingArgument,
  ): Promise<unknown> {
    const opened = this.#open(name, method, args, false, options, growing);
    const { replicas, checked, unchecked, affinity, generation, metered, contentOf } = opened;
    const reservation = places?.take(name);
    const run = (traceparent: string | undefined): Promise<unknown> =>
      callWithRetry(
        (_, admitted) =>
          replicas.call(method, checked, {
            ...{ ...options, traceparent, reservation, affinity, admitted, unchecked, metered, contentOf },
          }),
        this.#retry(name, options, policy),
      );
    const made = generation && this.#generations ? this.#generations.call(generation, run) : run(options.traceparent);
    return metered || growing ? this.#measured(made, opened, growing) : made;
  }

  /**
   * Returns the arguments of a call with the texts of images in their places, if its deployment has another one read
   * them. Nothing is read where the arguments are wrong.
   */
  async #withTexts(
    name: string,
    method: string,
    args: Args,
    options: CallOptions,
    policy: HandleOptions,
  ): Promise<Args> {
    const deployment = this.#options.find(name);
    const { imageReader: reader } = deployment;
    if (reader === undefined) return args;
    const { input } = requireMethod(deployment, method);
    const { dialog } = check(input, args, `${name}.${method}`) as { readonly dialog: ImageChatDialog };
    const context = requestContextOf(options);
    const recognize: ImageReader['recognize'] = (image, signal) =>
      this.#call(reader, 'recognize', { image }, { ...context, signal }, policy);
    const kept = this.#texts.of(this.#options.find(reader).bound, tenantOf(options));
    return { ...args, dialog: await withImageTexts(dialog, { name: reader, recognize }, kept, options.signal) };
  }

  /** Makes a call with audio that is being decoded. */
  async #callGrowing(
    name: string,
    method: string,
    args: Record<string, unknown>,
    options: CallOptions,
    policy: HandleOptions,
  ): Promise<unknown> {
    const ready = await readyArguments(args, this.#takenEarly(name, method), options.signal);
    const { growing } = ready;
    if (!growing) return this.#call(name, method, ready.args, options, policy);
    const decoding = new DecodedMeanwhile(growing, options.signal);
    try {
      return await this.#call(name, method, ready.args, { ...options, signal: decoding.signal }, policy, growing);
    } catch (error) {
      throw await decoding.reason(error);
    }
  }

  async *#streamGrowing(
    name: string,
    method: string,
    args: Record<string, unknown>,
    options: CallOptions,
    policy: HandleOptions,
  ): AsyncGenerator<unknown[], unknown, undefined> {
    const ready = await readyArguments(args, this.#takenEarly(name, method), options.signal);
    const { growing } = ready;
    if (!growing) return yield* this.#stream(name, method, ready.args, options, policy);
    const decoding = new DecodedMeanwhile(growing, options.signal);
    try {
      return yield* this.#stream(name, method, ready.args, { ...options, signal: decoding.signal }, policy, growing);
    } catch (error) {
      throw await decoding.reason(error);
    }
  }

  /** Returns the argument that the method takes while it is decoded. */
  #takenEarly(name: string, method: string): string | undefined {
    const { growingAudio = {} } = this.#options.find(name).bound.definition;
    return Object.hasOwn(growingAudio, method) ? growingAudio[method] : undefined;
  }

  async *#stream(
    name: string,
    method: string,
    args: Record<string, unknown>,
    { places, ...options }: CallOptions,
    policy: HandleOptions,
    growing?: GrowingArgument,
  ): AsyncGenerator<unknown[], unknown, undefined> {
    const opened = this.#open(name, method, args, true, options, growing);
    const { replicas, checked, unchecked, affinity, feed, generation, metered, contentOf } = opened;
    const reservation = places?.take(name);
    const open = (traceparent: string | undefined): AsyncGenerator<unknown[], unknown, undefined> =>
      streamWithRetry(
        (_, admitted) =>
          replicas.stream(method, checked, {
            ...{ ...options, traceparent, reservation, affinity, admitted, unchecked, feed, metered, contentOf },
          }),
        { ...this.#retry(name, options, policy), ...(feed && { canRepeat: () => !feed.isStarted }) },
      );
    try {
      const result = yield* generation && this.#generations
        ? this.#generations.stream(generation, open)
        : open(options.traceparent);
      const whole = await wholeArguments(checked, growing);
      metered?.end(figuresOf(generation !== undefined, whole, result));
      return result;
    } finally {
      metered?.end(undefined); // changes nothing after a success
    }
  }

  async #measured(
    made: Promise<unknown>,
    { metered, generation, checked, isToldInside }: OpenedCall,
    growing: GrowingArgument | undefined,
  ): Promise<unknown> {
    try {
      const result = await made;
      const whole = await wholeArguments(checked, growing);
      metered?.end(figuresOf(generation !== undefined, whole, result));
      return isToldInside ? withoutUsage(result) : result;
    } finally {
      metered?.end(undefined);
    }
  }

  #retry(deployment: string, { signal, requestId }: CallOptions, policy: HandleOptions): RetryOptions {
    const { clock, random, log } = this.#options;
    return {
      clock,
      random,
      signal,
      ...retryPolicy(policy),
      onRetry: (error, delayMs) => {
        log.warn('call repeated', { deployment, requestId, ...errorLogFields(error), delay_ms: Math.round(delayMs) });
        this.#retries.add(1, { 'aana.deployment': deployment, 'aana.outcome': faultOf(error) });
      },
    };
  }

  /**
   * Returns the replicas and the checked arguments of a call. Throws errors for unknown names and invalid arguments.
   */
  #open(
    name: string,
    method: string,
    args: Record<string, unknown>,
    streaming: boolean,
    context: CallOptions,
    growing: GrowingArgument | undefined,
  ): OpenedCall {
    const { traceparent, meter } = context;
    const deployment = this.#options.find(name);
    const { definition } = deployment.bound;
    if (context.multiplexedModelId !== undefined) checkModelId(deployment, context.multiplexedModelId);
    const described = requireMethod(deployment, method);
    if (described.streaming !== streaming) {
      const how = described.streaming ? 'is streaming; use stream()' : 'has a single result; use call()';
      throw fail('StreamMismatch', `method ${method} of deployment ${name} ${how}`);
    }
    const what = `${name}.${method}`;
    const { [described.feed?.name ?? '']: source, ...others } = args;
    const checked = check(described.input, described.feed ? others : args, what) as Record<string, unknown>;
    if (growing) checked[growing.name] = growing.audio.early;
    const onValue = meter && ((value: unknown): void => opened.metered?.heard(heardSeconds(value)));
    const feed = described.feed && new CheckedFeed(described.feed, source, what, onValue);
    const { operation } = described;
    const isToldInside = meter !== undefined && tellUsage(described, checked);
    const affinity = definition.affinity?.(method, checked);
    const opened: OpenedCall = {
      replicas: deployment.requireReplicas(),
      checked,
      unchecked: deployment.isDescribed ? what : undefined,
      // The load of a replica must not tell one caller how the prompts of another one begin.
      affinity: affinity === undefined ? undefined : `${tenantOf(context)}\n${affinity}`,
      feed,
      isToldInside,
      contentOf: described.transcribes === true && this.#takesContent ? () => new TranscriptContent() : undefined,
      generation: operation && { operation, deployment: name, args: checked, traceparent },
      // Last, because nothing ends the measurement of a refused call.
      metered: meter?.call(name, operation !== undefined),
    };
    return opened;
  }
}

/** Returns the options of a call with the limit of its request. */
function limited<Options extends RequestContext>(options: Options): Options {
  const most = options.meter?.maxOutputTokens;
  return most === undefined ? options : { ...options, maxOutputTokens: most };
}

/** Throws `ValidationError` if the call names a model by a wrong id, or the deployment has only one model. */
function checkModelId({ name, bound: { definition } }: CallableDeployment, id: string): void {
  const what = `deployment ${name}: multiplexedModelId`;
  check(MultiplexedModelId, id, what);
  if (!definition.isMultiplexed)
    throw fail('ValidationError', `${what}: ${definition.name} is no class with many models (static multiplexed)`);
}

function requireMethod({ name, bound: { definition } }: CallableDeployment, method: string): MethodDefinition {
  const found = Object.hasOwn(definition.methods, method) ? definition.methods[method] : undefined;
  if (found) return found;
  const known = Object.keys(definition.methods).join(', ');
  throw fail('MethodNotFound', `deployment ${name} has no method ${method}; its methods are: ${known}`, {
    data: { deployment: name, method },
  });
}
