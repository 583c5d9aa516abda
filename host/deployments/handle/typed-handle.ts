import type * as z from 'zod';
import type { CallOptions, DeploymentHandle } from './deployment-handle.ts';
import type { MethodDescription } from '../class/describe.ts';
import type { HasMethods, MethodDefinition, MethodTable } from '../class/method.ts';

/** Arguments may be left out where none is needed. */
type CallArguments<Input> =
  Record<never, never> extends Input ? [args?: Input, options?: CallOptions] : [args: Input, options?: CallOptions];

type HandleMethod<Method> =
  Method extends MethodDefinition<infer I, infer O, infer Streaming>
    ? Streaming extends true
      ? (...args: CallArguments<z.core.input<I>>) => AsyncGenerator<z.core.output<O>, void, undefined>
      : (...args: CallArguments<z.core.input<I>>) => Promise<z.core.output<O>>
    : never;

/** A handle that lists its methods. */
export interface DescribedHandle extends DeploymentHandle {
  /** The methods with their JSON Schemas and what they are for. */
  readonly methods: Readonly<Record<string, MethodDescription>>;
}

/**
 * A handle to a deployment of class `D`: its methods by name, with their types. Streams give value by value; leaving
 * the loop cancels them.
 */
export type HandleOf<D extends HasMethods> = DescribedHandle & {
  readonly [Name in Exclude<keyof D['methods'], keyof DescribedHandle>]: HandleMethod<D['methods'][Name]>;
};

/** A handle of which no more is known than its name. */
// oxlint-disable-next-line typescript/no-empty-object-type -- no methods at all, not any
export type AnyDeployment = HasMethods<{}>;

/**
 * `base` with a function for each method. A method whose name the base has is reached through `call` or `stream` alone.
 */
export function withMethods<H extends DeploymentHandle>(
  base: H,
  methods: MethodTable | Readonly<Record<string, MethodDescription>>,
  describe: () => Readonly<Record<string, MethodDescription>>,
): H & DescribedHandle {
  const handle = Object.defineProperty(base, 'methods', { get: describe, enumerable: true }) as H & DescribedHandle;
  for (const [name, { streaming }] of Object.entries(methods)) {
    if (name in handle) continue;
    const run = streaming
      ? (args: Record<string, unknown> = {}, options?: CallOptions) => oneByOne(base.stream(name, args, options))
      : (args: Record<string, unknown> = {}, options?: CallOptions) => base.call(name, args, options);
    Object.defineProperty(handle, name, { value: run, enumerable: true });
  }
  return handle;
}

async function* oneByOne(batches: AsyncIterable<unknown[]>): AsyncGenerator<unknown, void, undefined> {
  for await (const batch of batches) yield* batch;
}
