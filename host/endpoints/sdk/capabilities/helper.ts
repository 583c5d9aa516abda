import type * as z from 'zod/mini';
import { checked, fromHelper, runInScope } from '../checked.ts';
import { after, type MaybePromise } from '../maybe-promise.ts';
import { Context } from '../context.ts';
import { preparedPromise } from '../guest/event-loop.ts';
import type { HandleScope } from './handles.ts';
import type { Remote, Task } from '../../../../wit/generated/world/remote.ts';
import type { Host } from '../host.ts';

type Schema = z.ZodMiniType;

export interface HelperDefinition<I extends Schema, O extends Schema> {
  /** Unique in the plugin. */
  readonly name: string;
  readonly input: I;
  readonly output: O;
  run(input: z.output<I>, ctx: Context): MaybePromise<z.input<O>>;
}

/** A function of the plugin that runs in another instance: `ctx.runRemote(helper, input)`. */
export interface Helper<I extends Schema = Schema, O extends Schema = Schema> {
  readonly name: string;
  readonly input: I;
  readonly output: O;
  /** Runs the helper on JSON. Returns JSON or throws an error record. */
  run(host: Host, input: string): MaybePromise<string>;
}

/** Defines a helper. Name it in `definePlugin(endpoints, { helpers })`. */
export function defineHelper<I extends Schema, O extends Schema>({
  name,
  input,
  output,
  run,
}: HelperDefinition<I, O>): Helper<I, O> {
  return {
    ...{ name, input, output },
    run: (host, raw) =>
      runInScope(host, name, (scope) => {
        const args = checked(input, JSON.parse(raw), fromHelper);
        return after(
          run(args, new Context(host, scope)),
          (value) => JSON.stringify(checked(output, value, fromHelper)) ?? 'null',
        );
      }),
  };
}

export interface RemoteMembers {
  /** Runs a helper in another instance. Resolves with its result. Several helpers run at the same time. */
  runRemote<I extends Schema, O extends Schema>(helper: Helper<I, O>, input: z.input<I>): Promise<z.output<O>>;
}

export function createRemote(host: Remote, scope: HandleScope): RemoteMembers {
  return {
    runRemote<O extends Schema>({ name }: { readonly name: string }, input: unknown): Promise<z.output<O>> {
      let task: Task | undefined;
      return preparedPromise(
        () => (task = scope.track(host.Task.start(name, JSON.stringify(input) ?? 'null'))),
        (started) => started.wait(),
        (result) => {
          if (task) scope.dispose(task);
          return JSON.parse(result) as z.output<O>;
        },
      );
    },
  };
}
