import * as z from 'zod';
import { defineDeployment } from '../../inference/deployments/class/define-deployment.ts';

/**
 * The behaviour of the deployment's replicas. `bad` replicas refuse to start, die during the start, die soon
 * afterwards, or fail each call. `devices` repeats the options.
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
 * The input of a call. `ms`: its duration. `fails`: the engine fails. `poison`: the call ends the replica; the number
 * is the kind of the poison. `values`: number of values of a stream.
 */
const input = z.strictObject({
  poison: z.optional(z.int()),
  id: z.int(),
  ms: z.number(),
  fails: z.boolean(),
  values: z.int(),
  key: z.string(),
});

/** A deployment that only takes time. */
export const SimulatedDeployment = defineDeployment({
  name: 'SimulatedDeployment',
  configSchema: config,
  maxOngoingRequests: () => 4,
  methods: {
    call: { description: 'Returns its id.', input, output: z.int(), streaming: false },
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
