import * as z from 'zod/mini';

/** Characters of one text, as in OpenAI's API. */
export const MAX_TEXT = 10_485_760;
/** Characters of a name or an id. */
export const MAX_NAME = 512;
/** Characters of base64, a data URL or an address. */
export const MAX_DATA = 512 * 1024 * 1024;
/** Messages of a dialog, as in OpenAI's API. */
export const MAX_MESSAGES = 2048;
/** Parts of one message. */
export const MAX_CONTENT_PARTS = 1024;
/** Members of an object of any shape, such as a JSON Schema. */
export const MAX_MEMBERS = 4096;

interface RecordDef extends z.core.$ZodRecordDef {
  readonly maxProperties: number;
}

const init = z.ZodMiniRecord.init as (record: object, def: RecordDef) => void;

/** A record whose members are counted before they are checked. Zod has such a limit for lists, but not for records. */
const BoundedRecord = z.core.$constructor<z.ZodMiniRecord, RecordDef>('BoundedRecord', (record, def) => {
  init(record, def);
  const { parse } = record._zod;
  record._zod.parse = (payload, context) => {
    const { value: input } = payload;
    if (typeof input !== 'object' || input === null || Object.keys(input).length <= def.maxProperties)
      return parse(payload, context);
    const message = `must have at most ${def.maxProperties} members.`;
    payload.issues.push({ code: 'custom', input, inst: record, message, continue: false });
    return payload;
  };
});

/** Returns a schema of objects with at most `maxProperties` members. */
export function recordOf<Key extends z.core.$ZodRecordKey, Value extends z.core.$ZodType>(
  keyType: Key,
  valueType: Value,
  maxProperties: number,
): z.ZodMiniRecord<Key, Value> {
  const record = new BoundedRecord({ type: 'record', keyType, valueType, maxProperties });
  return record.check(z.meta({ maxProperties })) as unknown as z.ZodMiniRecord<Key, Value>;
}

/** An object of any members. */
export const anyObject = recordOf(z.string().check(z.maxLength(MAX_NAME)), z.unknown(), MAX_MEMBERS);
