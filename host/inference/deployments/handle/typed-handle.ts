import type * as z from 'zod';
import { flattened } from '../../../base/core/async/async-values.ts';
import type { CallOptions, DeploymentHandle } from './deployment-handle.ts';
import { type CallLimits, limitedHandle } from './limited-handle.ts';
import type { MethodDescription } from '../class/describe.ts';
import type { FeedArgument, HasMethods, MethodDefinition, MethodTable } from '../class/method.ts';

/** Parameters of a handle's method. Arguments are optional if the method requires none. */
type CallArguments<Input> =
  Record<never, never> extends Input ? [args?: Input, options?: CallOptions] : [args: Input, options?: CallOptions];

type HandleMethod<Method> =
  Method extends MethodDefinition<infer I, infer O, infer Streaming, infer End, infer Fed>
    ? Streaming extends true
      ? (
          ...args: CallArguments<z.core.input<I> & FeedArgument<Fed, 'input'>>
        ) => AsyncGenerator<z.core.output<O>, EndOf<End>, undefined>
      : (...args: CallArguments<z.core.input<I>>) => Promise<z.core.output<O>>
    : never;

/** Type of the value that a stream returns after its last one. A deployment may leave it out. */
type EndOf<End> = End extends z.core.$ZodType ? z.core.output<End> | undefined : void;

/** A handle that lists its methods. */
export interface DescribedHandle extends DeploymentHandle {
  /** Methods with their descriptions and JSON Schemas. */
  readonly methods: Readonly<Record<string, MethodDescription>>;
  /**
   * Returns a handle to the same deployment whose calls have these limits: `handle.options({ timeoutS: 5 })`. Throws
   * `ValidationError`, which names the option.
   */
  options(limits: CallLimits): this;
}

/**
 * A handle to a deployment of class `D`, with typed methods. Streams yield value by value, and return the value that
 * the method returned after its last one. Leaving the loop cancels the call.
 */
export type HandleOf<D extends HasMethods> = DescribedHandle & {
  readonly [Name in Exclude<keyof D['methods'], keyof DescribedHandle>]: HandleMethod<D['methods'][Name]>;
};

/** A deployment whose class is unknown. */
// oxlint-disable-next-line typescript/no-empty-object-type -- no methods at all, not any
export type AnyDeployment = HasMethods<{}>;

/**
 * Adds a function for each method to `base` and returns it. A method whose name `base` already has can only be called
 * through `call` or `stream`.
 */
export function withMethods<H extends DeploymentHandle>(
  base: H,
  methods: MethodTable | Readonly<Record<string, MethodDescription>>,
  describe: () => Readonly<Record<string, MethodDescription>>,
): H & DescribedHandle {
  const options = (limits: CallLimits): DescribedHandle => withMethods(limitedHandle(base, limits), methods, describe);
  const original = base.call;
  const call: DeploymentHandle['call'] = (method, args, given) => {
    const made = original(method, args, given);
    // Code may wait for it later. A failure before that, such as a caller who leaves, must not end the process.
    made.catch(() => {});
    return made;
  };
  const handle = Object.defineProperties(base, {
    call: { value: call, enumerable: true },
    methods: { get: describe, enumerable: true },
    options: { value: options, enumerable: true },
  }) as H & DescribedHandle;
  for (const [name, { streaming }] of Object.entries(methods)) {
    if (name in handle) continue;
    const run = streaming
      ? (args: Record<string, unknown> = {}, options?: CallOptions) => flattened(base.stream(name, args, options))
      : (args: Record<string, unknown> = {}, given?: CallOptions) => call(name, args, given);
    Object.defineProperty(handle, name, { value: run, enumerable: true });
  }
  return handle;
}
