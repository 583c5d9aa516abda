import * as z from 'zod';
import { defineDeployment } from '../../deployments/class/define-deployment.ts';

/**
 * What its replicas are like: `bad` ones refuse to start, die while they start, die soon after, or fail each call;
 * `devices` is what the options say too.
 */
const config = z.strictObject({
  weights_bytes: z.number(),
  context_bytes: z.number(),
  version: z.int().default(0),
  tone: z.int().default(0),
  bad: z.enum(['reject', 'crash', 'mayfly', 'throws']).optional(),
  devices: z.strictObject({ num_gpus: z.number().optional(), memory_bytes: z.number().optional() }).default({}),
});
export type SimulatedSpec = z.infer<typeof config>;

/**
 * `ms`: how long it takes. `fails`: the engine fails. `poison`: it ends the replica then; which of the poisonous calls
 * it is. `values`: how many a stream gives.
 */
const input = z.strictObject({
  poison: z.optional(z.int()),
  id: z.int(),
  ms: z.number(),
  fails: z.boolean(),
  values: z.int(),
  key: z.string(),
});

/** A deployment that takes time, and nothing else. */
export const SimulatedDeployment = defineDeployment({
  name: 'SimulatedDeployment',
  configSchema: config,
  maxOngoingRequests: () => 4,
  methods: {
    call: { description: 'Gives its id.', input, output: z.int(), streaming: false },
    stream: { description: 'Counts.', input, output: z.int(), streaming: true },
  },
  reconfigurable: ['tone'],
  prepare: async (settings) => ({ ...settings }),
  memory: async (spec) => ({
    weightsBytes: Number(spec['weights_bytes']),
    contextBytes: Number(spec['context_bytes']),
  }),
  affinity: (_method, { key }) => String(key),
  implementation: new URL('file:///simulated'),
});
