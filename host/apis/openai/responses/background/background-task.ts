import * as z from 'zod';

/** The input of the task of a response. The request lies with the response, so that nothing of it is left behind. */
export const BackgroundTask = z.strictObject({
  response_id: z.string(),
  /** The deployments that the key of the request allows; null for all. */
  deployments: z.array(z.string()).nullable(),
});
export type BackgroundTask = z.output<typeof BackgroundTask>;

/** The events that a streamed response has before its first attempt. */
export const FIRST_EVENTS = ['response.created', 'response.queued'] as const;
/** A response survives so many hosts and replicas that are lost while they make it. */
export const MAX_ATTEMPTS = 10;
