import { isErrorName } from '../../../base/core/error-table.ts';
import { AanaError } from '../../../base/core/errors.ts';
import { HttpError } from '../response/error-body.ts';

const NOUNS = { tasks: 'Task', webhooks: 'Webhook', webhook_deliveries: 'Delivery' } as const;

/** A table whose rows clients name by id. */
export type Table = keyof typeof NOUNS;

/** Returns the 404 for an id that names nothing, or nothing of this user. */
export function notFound(table: Table, data: unknown): HttpError {
  const message = `${NOUNS[table]} not found`;
  return new HttpError('NotFoundException', message, { data, detail: message });
}

/**
 * Waits for work on a task, a webhook or a delivery. Its errors get the key `detail` and the statuses of the original:
 * 400 where the state of a task forbids the request.
 */
export async function withDetail<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof AanaError)) throw error;
    const { name, kind, message, data } = error;
    if (kind === 'not-found') throw notFound((data as { readonly table: Table }).table, data);
    if (isErrorName(name) && (kind === 'bad-request' || kind === 'conflict'))
      throw new HttpError(name, message, { data, detail: message });
    throw error;
  }
}
