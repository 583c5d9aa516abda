import * as z from 'zod';

/** One plugin of a running server. */
export const PluginStatus = z.object({
  name: z.string(),
  /** `failed`: no version of it serves. */
  state: z.enum(['running', 'failed']),
  /** Why the newest version is not the one that serves. */
  error: z.nullable(z.string()),
  source: z.string(),
  version: z.nullable(z.string()),
  digest: z.nullable(z.string()),
  endpoints: z.array(z.string()),
  limits: z.nullable(z.record(z.string(), z.number())),
  counters: z.object({ running: z.int(), queued: z.int(), done: z.int(), failed: z.record(z.string(), z.int()), cpu_ms: z.int() }),
  /** Older versions that still finish their requests. */
  draining: z.int(),
});
export type PluginStatus = z.infer<typeof PluginStatus>;

/** What a running server can be asked, by name: the arguments, and the answer. */
export const operations = {
  'plugins.list': { args: z.strictObject({}), value: z.array(PluginStatus) },
  'plugins.reload': {
    args: z.strictObject({ name: z.optional(z.string()) }),
    value: z.array(z.object({ name: z.string(), outcome: z.enum(['reloaded', 'failed', 'removed']), detail: z.string() })),
  },
} as const;

export type ControlOperation = keyof typeof operations;
export type ControlArgs<O extends ControlOperation> = z.infer<(typeof operations)[O]['args']>;
export type ControlValue<O extends ControlOperation> = z.infer<(typeof operations)[O]['value']>;
export type ControlHandlers = { readonly [O in ControlOperation]: (args: ControlArgs<O>) => Promise<ControlValue<O>> };

/** What a server writes beside its socket. */
export const Address = z.object({ pid: z.int(), url: z.string(), socket: z.string() });
export type Address = z.infer<typeof Address>;
