import type * as z from 'zod/mini';
import { checked, fromHelper, runInScope } from '../checked.ts';
import { Context } from '../context.ts';
import { type HandleScope, RemoteTask } from './handles.ts';
import { hostCall } from '../host-error.ts';
import type { Remote } from '../../../../wit/generated/world/remote.ts';
import type { Host } from '../host.ts';

type Schema = z.ZodMiniType;

export interface HelperDefinition<I extends Schema, O extends Schema> {
  /** Unique in the plugin. */
  readonly name: string;
  readonly input: I;
  readonly output: O;
  run(input: z.output<I>, ctx: Context): z.input<O>;
}

/** A function of the plugin that runs in another instance: `ctx.runRemote(helper, input)`. */
export interface Helper<I extends Schema = Schema, O extends Schema = Schema> {
  readonly name: string;
  readonly input: I;
  readonly output: O;
  /** Runs the helper on JSON. Returns JSON or throws an error record. */
  run(host: Host, input: string): string;
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
        return JSON.stringify(checked(output, run(args, new Context(host, scope)), fromHelper) ?? null);
      }),
  };
}

export interface RemoteMembers {
  /** Runs a helper in another instance. Returns its result. */
  runRemote<I extends Schema, O extends Schema>(helper: Helper<I, O>, input: z.input<I>): z.output<O>;
  /** Starts a helper in another instance. Several helpers run at the same time. `wait()` returns the result. */
  startRemote<I extends Schema, O extends Schema>(helper: Helper<I, O>, input: z.input<I>): RemoteTask<z.output<O>>;
}

export function createRemote(host: Remote, scope: HandleScope): RemoteMembers {
  const startRemote: RemoteMembers['startRemote'] = ({ name }, input) =>
    new RemoteTask(
      hostCall(() => host.Task.start(name, JSON.stringify(input) ?? 'null')),
      scope,
    );
  return {
    startRemote,
    runRemote(helper, input) {
      const task = startRemote(helper, input);
      try {
        return task.wait();
      } finally {
        task[Symbol.dispose]();
      }
    },
  };
}
