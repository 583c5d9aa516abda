import { createHmac, randomBytes } from 'node:crypto';
import type { ClaimedDelivery } from '../storage/index.ts';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A secret as the libraries of Standard Webhooks take it: the key in base64 after `whsec_`. */
export function newSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** The body of a delivery: that of the original, the same for every attempt. */
export function messageBody(
  delivery: Pick<ClaimedDelivery, 'event' | 'task_id' | 'endpoint' | 'task_status' | 'num_retries' | 'result'>,
  includeStacktrace: boolean,
): Uint8Array {
  const { event, task_id: id, endpoint, task_status: status, num_retries: retries, result: text } = delivery;
  const value: unknown = text === null ? null : JSON.parse(text);
  const isError = status !== 'completed' && typeof value === 'object' && value !== null;
  const result = isError && !includeStacktrace ? { ...value, stacktrace: null } : value;
  const isLeftOut = text === null && (status === 'completed' || status === 'failed');
  const payload = {
    task_id: id,
    task_type: endpoint,
    status,
    result,
    num_retries: retries,
    ...(isLeftOut && { result_omitted: true }),
  };
  return Buffer.from(asciiJson({ event, payload }), 'ascii');
}

/**
 * Returns compact JSON in ASCII, as Python writes it, because receivers of the original write the body again before they
 * verify it.
 */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

export interface SignedMessage {
  readonly id: string;
  readonly body: Uint8Array;
  readonly secret: string;
  /** Milliseconds since 1970 by this machine's clock, which receivers compare with theirs. */
  readonly sentAt: number;
  /** The place in a distributed trace; it is not signed. */
  readonly traceparent?: string | undefined;
}

/**
 * The headers of a message: those of Standard Webhooks, which sign id, time and body, and the original's, which signs
 * the body alone.
 */
export function messageHeaders({
  id,
  body,
  secret,
  sentAt,
  traceparent,
}: SignedMessage): [name: string, value: string][] {
  const timestamp = String(Math.floor(sentAt / 1000));
  const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(body).digest('base64');
  return [
    ['content-type', 'application/json'],
    ['webhook-id', id],
    ['webhook-timestamp', timestamp],
    ['webhook-signature', `v1,${signature}`],
    ['x-signature', createHmac('sha256', secret).update(body).digest('hex')],
    ...(traceparent === undefined ? [] : [['traceparent', traceparent] satisfies [string, string]]),
  ];
}

/** The key of Standard Webhooks: what is in the base64 after `whsec_`, or the text itself. */
function keyOf(secret: string): Buffer {
  return secret.startsWith(PREFIX) ? Buffer.from(secret.slice(PREFIX.length), 'base64') : Buffer.from(secret);
}

/**
 * Whether a secret can be used: one that begins as those of Standard Webhooks goes on with the base64 of at least 16
 * bytes.
 */
export function isSecret(secret: string): boolean {
  return (
    !secret.startsWith(PREFIX) ||
    (/^[A-Za-z0-9+/]+={0,2}$/.test(secret.slice(PREFIX.length)) && keyOf(secret).length >= 16)
  );
}
