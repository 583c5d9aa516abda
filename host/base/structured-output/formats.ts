import * as z from 'zod';

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
/** Without two hyphens in a row, because these encode other alphabets. */
const LABEL = '[a-z0-9]{1,20}(?:-[a-z0-9]{1,20}){0,2}';
const HOST = `(?:${LABEL}\\.){1,4}[a-z]{2,12}`;
const DATE =
  '(?:\\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31))';
const TIME = '(?:(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d))';
const CLOCK = '(?:T(?:\\d{1,4}H(?:\\d{1,4}M(?:\\d{1,4}S)?)?|\\d{1,4}M(?:\\d{1,4}S)?|\\d{1,4}S))';
const DAYS = '(?:\\d{1,4}Y(?:\\d{1,4}M(?:\\d{1,4}D)?)?|\\d{1,4}M(?:\\d{1,4}D)?|\\d{1,4}D)';

/**
 * Whole texts of formats of JSON Schema. Each text has the format; some texts of a format are missing, such as the 29th
 * of February and quoted mailboxes.
 */
export const FORMATS: ReadonlyMap<string, string> = new Map([
  ['date', DATE],
  ['time', TIME],
  ['date-time', `${DATE}T${TIME}`],
  ['duration', `P(?:\\d{1,4}W|${DAYS}${CLOCK}?|${CLOCK})`],
  ['uuid', '[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'],
  ['ipv4', `${OCTET}(?:\\.${OCTET}){3}`],
  ['ipv6', '[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){7}'],
  ['hostname', HOST],
  ['email', `[A-Za-z0-9_+-]{1,30}(?:\\.[A-Za-z0-9_+-]{1,30}){0,3}@${HOST}`],
  ['uri', `https?://${HOST}(?::[1-9]\\d{0,3})?(?:/[A-Za-z0-9._~-]{0,60}){0,8}(?:\\?[A-Za-z0-9._~=&-]{1,100})?`],
]);

/** Patterns of zod that no grammar can express, of which all texts of the format above are. */
export const FORMAT_PATTERNS: ReadonlySet<string> = new Set(
  [z.core.regexes.duration, z.core.regexes.hostname].map(({ source }) => source),
);
