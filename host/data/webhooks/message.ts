import { createHmac } from 'node:crypto';
import { type ClaimedDelivery, isAlertEvent } from '../storage/index.ts';
import { signingKey } from './secrets.ts';

/**
 * Returns the body of a delivery in the format of the Python SDK. It is the same for every attempt. The payload of an
 * event of an alert is the alert.
 */
export function messageBody(
  delivery: Pick<ClaimedDelivery, 'event' | 'task_id' | 'endpoint' | 'task_status' | 'num_retries' | 'result'>,
  includeStacktrace: boolean,
): Uint8Array {
  const { event, task_id: id, endpoint, task_status: status, num_retries: retries, result: text } = delivery;
  const value: unknown = text === null ? null : JSON.parse(text);
  if (isAlertEvent(event)) return Buffer.from(asciiJson({ event, payload: value }), 'ascii');
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
 * Returns compact JSON in ASCII, as Python writes it, because receivers of the Python SDK serialise the body again
 * before they verify it.
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
  /** Milliseconds since 1970 by the clock of this machine. Receivers compare it with their clocks. */
  readonly sentAt: number;
  /** The place in a distributed trace; it is not signed. */
  readonly traceparent?: string | undefined;
}

/**
 * Returns the headers of a message: the headers of Standard Webhooks, which sign id, time and body, and the header of
 * the Python SDK, which signs only the body.
 */
export function messageHeaders({
  id,
  body,
  secret,
  sentAt,
  traceparent,
}: SignedMessage): [name: string, value: string][] {
  const timestamp = String(Math.floor(sentAt / 1000));
  const signature = createHmac('sha256', signingKey(secret))
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest('base64');
  return [
    ['content-type', 'application/json'],
    ['webhook-id', id],
    ['webhook-timestamp', timestamp],
    ['webhook-signature', `v1,${signature}`],
    ['x-signature', createHmac('sha256', secret).update(body).digest('hex')],
    ...(traceparent === undefined ? [] : [['traceparent', traceparent] satisfies [string, string]]),
  ];
}
