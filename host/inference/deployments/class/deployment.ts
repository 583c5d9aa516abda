import type * as z from 'zod';
import { fail } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { RequestContext } from '../../../base/core/request-context.ts';
import type { Artifact } from '../../../base/schemas/index.ts';
import { bind, type BoundDeployment, type OptionsOf } from './bound-deployment.ts';
import type { ConfigType, SchemaOf } from './config-class.ts';
import { definitionOf } from './custom-definition.ts';
import { batchesOf, type BatchLimits } from './host-batches.ts';
import { handlesOf } from './host-handles.ts';
import type { HandleOptionsInput } from '../handle/handle-options.ts';
import type { AnyDeployment, DescribedHandle, HandleOf } from '../handle/typed-handle.ts';
import type { FeedArgument, HasMethods, MethodDefinition, MethodTable } from './method.ts';

/** Second argument of `applyConfig` and `reconfigure`. */
export interface DeploymentContext {
  /** Writes to the log of the host. */
  readonly log: Logger;
  /** Paths of the model files that the static `models` named, by the same keys. */
  readonly models: Readonly<Record<string, string>>;
  /**
   * Returns the path of an artifact, such as decoded audio or an uploaded file. The path is valid while the call that
   * has the artifact as an argument runs. Rejects with `ArtifactNotFound`.
   */
  artifactPath(artifact: Artifact): Promise<string>;
  /**
   * Reports the progress of loading: 0 to 1, or undefined when unknown. A start without a report for `start_timeout_s`
   * (default 300) fails.
   */
  progress(fraction: number | undefined, text: string): void;
}

/** Second argument of a method. */
export interface CallContext extends RequestContext {
  /** Aborted when the caller cancels or disconnects. */
  readonly signal: AbortSignal;
  /** Reports the part of the call that is done, from 0 to 1. It may be called often. */
  readonly progress: (fraction: number) => void;
  /** Writes to the log of the host, with the request's id. */
  readonly log: Logger;
  /** The model that the caller has named, of a class with `static multiplexed`. */
  readonly multiplexedModelId?: string | undefined;
  /** What `loadModel` returned for it; see {@link Deployment.model}. */
  readonly model?: object | undefined;
}

/** How many models one replica of a class keeps loaded. */
export interface Multiplexed {
  /** Most models, 1 to 1000. */
  readonly maxModels: number;
  /**
   * Most bytes of all models together, as their members `bytes` tell them. Default: no limit. Models that are being
   * loaded count when they are there, so while several load the sum can be higher.
   */
  readonly maxBytes?: number;
}

/** What the host uses of an object that `loadModel` returns. */
export interface LoadedModel {
  /** Bytes that it needs, for `maxBytes`. Default: 0. */
  readonly bytes?: number | undefined;
  /** Frees it. Called when no call uses it any more. */
  dispose?(): Promise<void> | void;
}

/**
 * Base class of custom deployments. Each replica is a process that imports the module of the class and makes one object
 * of it, so importing the module must start nothing. `static module`, `static config` and `static methods` describe the
 * deployment (see `DeploymentClass`). The class has a method for each name in the table of methods.
 */
export abstract class Deployment<Config = unknown, Model extends object = object> {
  /**
   * Returns the argument of `AanaApp.registerDeployment`. Throws `ValidationError`, which names the unknown or invalid
   * key.
   */
  static options<C extends ConfigType, M extends MethodTable>(
    this: DeploymentClass<C, M>,
    options: OptionsOf<z.core.input<SchemaOf<C>>> = {},
  ): BoundDeployment<M> {
    return bind(definitionOf(this), options, `${this.name}.options`) as BoundDeployment<M>;
  }

  /**
   * Returns a handle to the deployment that `static handles`, or the option `handles`, names under this key. It is like
   * a handle of the application. Available from `applyConfig` on; the deployment is ready then. A call belongs to the
   * request for which the method runs: it has its user, deadline and trace, and ends with it. Throws
   * `HandleNotDeclared` for another key.
   */
  protected handle<D extends HasMethods = AnyDeployment>(key: string, options?: HandleOptionsInput): HandleOf<D> {
    return handlesOf(this)(key, options) as DescribedHandle as HandleOf<D>;
  }

  /**
   * Returns the model that the caller has named with `handle.options({ multiplexedModelId })`. It stays loaded until
   * the method ends. Throws `ModelNotNamed` if the caller has named none.
   */
  protected model(context: CallContext | BatchContext): Model {
    const call = 'calls' in context ? context.calls[0] : context;
    if (call?.model) return call.model as Model;
    throw fail(
      'ModelNotNamed',
      `${this.constructor.name} has several models; name one with handle.options({ multiplexedModelId })`,
    );
  }

  /**
   * Changes how many calls of a method that declares `maxBatchSize` are computed together, from the next batch on. What
   * is not given stays as it is. Available from `applyConfig` on, also in `reconfigure`. Throws `ValidationError` for
   * another method, and for more calls than it declares.
   */
  protected setBatch(method: string, limits: BatchLimits): void {
    batchesOf(this)(method, limits);
  }

  /** Loads the model and other resources. If it throws, the start of the replica fails. */
  applyConfig?(config: Config, context: DeploymentContext): Promise<void> | void;
  /**
   * Loads the model with this id, which callers choose, so check it. Called when a call first names it, and again after
   * it was unloaded or the configuration has changed. If it throws, the calls that wait for it fail with the error. The
   * object may have `bytes` and `dispose` (see {@link LoadedModel}). Needs `static multiplexed`.
   */
  loadModel?(id: string, context: Pick<DeploymentContext, 'log' | 'models'>): Promise<Model> | Model;
  /** Makes one small call as users do. The replica is ready when it returns. */
  warmUp?(): Promise<void> | void;
  /**
   * Applies a changed configuration to calls that begin afterwards, while running calls go on. If it throws, the
   * deployment must keep its old configuration. If it makes no progress for `start_timeout_s`, the update fails and the
   * replica is replaced. Without this method a change of the configuration replaces the replicas.
   */
  reconfigure?(config: Config, context: DeploymentContext): Promise<void> | void;
  /**
   * Called every `health_check_period_s`. If it throws, or takes longer than `health_check_timeout_s`, the replica is
   * replaced.
   */
  checkHealth?(): Promise<void> | void;
  /** Frees all resources. Called when no call is running any more. */
  dispose?(): Promise<void> | void;
}

/** Second argument of a method that computes several calls together. */
export interface BatchContext {
  /** The contexts of the calls, in the order of the inputs. The signal of a call aborts when its caller leaves. */
  readonly calls: readonly CallContext[];
  /** Aborted when all callers have left. */
  readonly signal: AbortSignal;
  /** Writes to the log of the host. */
  readonly log: Logger;
}

/** In a step of a stream of several calls: this call has had its last value. */
export const STREAM_END: unique symbol = Symbol.for('aana-host.stream-end') as typeof STREAM_END;

/**
 * A step of a stream of several calls, in the order of the inputs: the next value of each, an error that ends only this
 * call, `STREAM_END`, or undefined if the step has nothing for it. What comes for a call that has ended is dropped. All
 * calls end with the stream.
 */
export type BatchStep<Output> = readonly (Output | Error | typeof STREAM_END | undefined)[];

/** Type of the class's method for an entry of the table. */
type Implementation<Method> =
  Method extends MethodDefinition<infer I, infer O, infer Streaming, infer _End, infer Fed, infer Batch>
    ? undefined extends Batch
      ? Streaming extends true
        ? (
            input: z.core.output<I> & FeedArgument<Fed, 'output'>,
            context: CallContext,
          ) => AsyncIterable<z.core.input<O>>
        : (input: z.core.output<I>, context: CallContext) => Promise<z.core.input<O>>
      : Streaming extends true
        ? (inputs: readonly z.core.output<I>[], batch: BatchContext) => AsyncIterable<BatchStep<z.core.input<O>>>
        : (inputs: readonly z.core.output<I>[], batch: BatchContext) => Promise<readonly (z.core.input<O> | Error)[]>
    : never;

/**
 * Methods that a class with this table must have: `class Sentiment extends Deployment implements Implements<typeof
 * methods>`.
 */
export type Implements<M extends MethodTable> = { readonly [Name in keyof M]: Implementation<M[Name]> };

/** A class that can be deployed. */
export interface DeploymentClass<C extends ConfigType = ConfigType, M extends MethodTable = MethodTable> {
  new (): Deployment<never> & Implements<M>;
  /** Name under which the module exports the class. */
  readonly name: string;
  /** `import.meta.url` of the module that exports the class. */
  readonly module: string;
  /** Schema of `user_config`, or a class made by `configClass`. */
  readonly config: C;
  readonly methods: M;
  /**
   * Names of the deployments that the class calls with `handle`, by keys of its choice. The option `handles` gives
   * other names. No deployment may call itself, also not through others.
   */
  readonly handles?: Readonly<Record<string, string>>;
  /**
   * Set when the class has many models, each with an id, of which a replica loads those that are asked for with
   * `loadModel`. The least recently used one is unloaded for another. Calls prefer a replica that has their model.
   */
  readonly multiplexed?: Multiplexed;
  /** Calls that one replica takes at the same time, unless the options set another number. Default: 5. */
  readonly maxOngoingRequests?: number;
  /** Returns models to fetch before the start, by keys of your choice: catalogue ids, hub addresses or paths. */
  models?(config: z.core.output<SchemaOf<C>>): Readonly<Record<string, string>>;
  /** Returns a text for a call. Calls with the same text prefer the same replica. */
  affinity?(method: string, args: Readonly<Record<string, unknown>>): string | undefined;
}
