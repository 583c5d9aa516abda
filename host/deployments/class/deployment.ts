import type * as z from 'zod';
import type { Logger } from '../../core/log/logger.ts';
import type { RequestContext } from '../../core/request-context.ts';
import type { Artifact } from '../../schemas/index.ts';
import { bind, type BoundDeployment, type OptionsOf } from './bound-deployment.ts';
import type { ConfigType, SchemaOf } from './config-class.ts';
import { definitionOf } from './custom-definition.ts';
import type { MethodDefinition, MethodTable } from './method.ts';

/** What `applyConfig` and `reconfigure` get beside the configuration. */
export interface DeploymentContext {
  /** Lines go to the log of the host. */
  readonly log: Logger;
  /** Paths of the model files that the static `models` asked for, by the same keys. */
  readonly models: Readonly<Record<string, string>>;
  /**
   * The path of the bytes of decoded audio, an uploaded file or another artifact, for as long as the call that brought
   * it runs. Rejects with `ArtifactNotFound`.
   */
  artifactPath(artifact: Artifact): Promise<string>;
  /**
   * Tells how far loading is: 0 to 1, or undefined when unknown. A start that tells nothing for two minutes is given
   * up.
   */
  progress(fraction: number | undefined, text: string): void;
}

/** What a method gets beside its arguments. */
export interface CallContext extends RequestContext {
  /** Aborts when the caller cancelled or went away. */
  readonly signal: AbortSignal;
  /** Lines go to the log of the host, with the request's id. */
  readonly log: Logger;
}

/**
 * A deployment of one's own: a class in a module that starts nothing when it is imported, for each replica imports it
 * in a process of its own and makes one object of the class. `static module`, `static config` and `static methods` say
 * what it is (see `DeploymentClass`); each method of the table is a method of the class with the same name.
 */
export abstract class Deployment<Config = unknown> {
  /**
   * What `AanaApp.registerDeployment` takes. Throws `ValidationError`, naming the key that it does not know or cannot
   * take.
   */
  static options<C extends ConfigType, M extends MethodTable>(
    this: DeploymentClass<C, M>,
    options: OptionsOf<z.core.input<SchemaOf<C>>> = {},
  ): BoundDeployment<M> {
    return bind(definitionOf(this), options, `${this.name}.options`) as BoundDeployment<M>;
  }

  /** Loads what the methods need. When it throws, the deployment has failed. */
  applyConfig?(config: Config, context: DeploymentContext): Promise<void> | void;
  /** One small call like those of users; the replica is ready when it returns. */
  warmUp?(): Promise<void> | void;
  /**
   * Takes a changed configuration while calls go on, for those that begin afterwards. When it throws, the deployment
   * must go on as it was. Without it replicas are replaced when the configuration changes.
   */
  reconfigure?(config: Config, context: DeploymentContext): Promise<void> | void;
  /**
   * Asked for every `health_check_period_s`. When it throws, or takes longer than `health_check_timeout_s`, the replica
   * is replaced.
   */
  checkHealth?(): Promise<void> | void;
  /** Frees what was loaded, when no call is running any more. */
  dispose?(): Promise<void> | void;
}

/** What a method of the table is in the class. */
type Implementation<Method> =
  Method extends MethodDefinition<infer I, infer O, infer Streaming>
    ? Streaming extends true
      ? (input: z.core.output<I>, context: CallContext) => AsyncIterable<z.core.input<O>>
      : (input: z.core.output<I>, context: CallContext) => Promise<z.core.input<O>>
    : never;

/**
 * The methods that a class with this table has: `class Sentiment extends Deployment implements Implements<typeof
 * methods>`.
 */
export type Implements<M extends MethodTable> = { readonly [Name in keyof M]: Implementation<M[Name]> };

/** A class that can be deployed. */
export interface DeploymentClass<C extends ConfigType = ConfigType, M extends MethodTable = MethodTable> {
  new (): Deployment<never> & Implements<M>;
  /** The class is exported under this name. */
  readonly name: string;
  /** `import.meta.url` of the module that exports the class. */
  readonly module: string;
  /** Schema of `user_config`, or a class made by `configClass`. */
  readonly config: C;
  readonly methods: M;
  /** Calls that one replica takes at the same time, unless the options say otherwise. Default 5. */
  readonly maxOngoingRequests?: number;
  /** Models to fetch before the start, by keys of one's own: catalogue ids, hub addresses or paths. */
  models?(config: z.core.output<SchemaOf<C>>): Readonly<Record<string, string>>;
  /** Calls for which it gives the same text prefer the same replica. */
  affinity?(method: string, args: Readonly<Record<string, unknown>>): string | undefined;
}
