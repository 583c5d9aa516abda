import * as z from 'zod';

/** The requests of one route since the start of the host. */
const RouteWork = z.object({
  requests: z.int(),
  refused: z
    .int()
    .describe('Requests that were answered with a status of 400 to 498. A client that left (499) is not counted.'),
  failed: z.int().describe('Requests that were answered with a status of 500 or above.'),
  latency_p50_s: z.number().nullable().describe('Null without requests.'),
  latency_p95_s: z.number().nullable(),
});

/** The endpoints of an application, and the other routes that had requests. */
export const EndpointReport = z.object({
  endpoints: z.array(
    z.object({
      name: z.string(),
      path: z.string(),
      summary: z.string(),
      plugin: z.string().nullable().describe('Name of the plugin that it comes from; null if the program has it.'),
      streaming: z.boolean(),
      deployments: z.array(z.string()).describe('Deployments that each run calls, if it declares them.'),
      work: RouteWork.nullable().describe('Null without metrics (`telemetry.metrics`).'),
    }),
  ),
  routes: z
    .array(z.object({ route: z.string(), work: RouteWork }))
    .describe('Routes of the host and of routers of the program that had requests.'),
});
export type EndpointReport = z.infer<typeof EndpointReport>;
