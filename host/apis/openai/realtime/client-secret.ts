import * as z from 'zod';
import { anyObject } from '../../../base/schemas/index.ts';
import { type RequestFields } from '../fields.ts';
import { TranscriptionSession } from './server-events.ts';

/** Seconds for which a secret can be used, as in OpenAI's API. */
const SHORTEST_S = 10;
const LONGEST_S = 7200;
const DEFAULT_S = 600;

/** The parameters of `POST /v1/realtime/client_secrets` that have an effect. */
export const ClientSecretRequest = z.object({
  expires_after: z
    .optional(
      z.nullable(
        z.object({
          anchor: z.optional(z.literal('created_at')),
          seconds: z.optional(z.int().min(SHORTEST_S).max(LONGEST_S)),
        }),
      ),
    )
    .describe(
      `Until when the secret opens sessions: \`{anchor: created_at, seconds}\`, ${SHORTEST_S} to ${LONGEST_S} s. ` +
        `Default: ${DEFAULT_S} s.`,
    ),
  session: z.optional(z.nullable(anyObject)).describe('The settings with which its sessions begin, see below.'),
});
export type ClientSecretRequest = z.output<typeof ClientSecretRequest>;

/** All parameters of `POST /v1/realtime/client_secrets`. */
export const CLIENT_SECRET_FIELDS = { schema: ClientSecretRequest, idle: {} } as const satisfies RequestFields;

/** The answer of `POST /v1/realtime/client_secrets`. */
export const ClientSecretAnswer = z.object({
  value: z.string().describe('The secret. It begins with `ek_`.'),
  expires_at: z.int().describe('Seconds since the epoch.'),
  session: TranscriptionSession,
});

/** Returns the seconds for which a secret can be used. */
export function secretSeconds({ expires_after: expiry }: ClientSecretRequest): number {
  return expiry?.seconds ?? DEFAULT_S;
}
