import type { UsageRecord } from './record.ts';

/** The content type of a batch. Source: CloudEvents 1.0, HTTP protocol binding, section 3.3. */
export const BATCH_TYPE = 'application/cloudevents-batch+json; charset=utf-8';

/** The type of the events. */
export const USAGE_EVENT = 'aana.usage';

/** The subject of records without a user. Receivers such as OpenMeter need one. */
const NOBODY = 'nobody';

/**
 * Returns a batch of CloudEvents. The subject of each is the user, because systems that bill take it as the customer.
 */
export function cloudEventBatch(records: readonly UsageRecord[], source: string): string {
  return JSON.stringify(
    records.map(({ id, time, ...data }) => ({
      specversion: '1.0',
      id,
      source,
      type: USAGE_EVENT,
      subject: data.user_id ?? NOBODY,
      time,
      datacontenttype: 'application/json',
      data,
    })),
  );
}
