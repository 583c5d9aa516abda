import * as z from 'zod';
import { LOG_AREAS } from '../../../../../base/core/log/log-levels.ts';

export const LogLevel = z.enum(['debug', 'info', 'warn', 'error']);
export const LogArea = z.enum(LOG_AREAS);

/** The lowest levels of lines that are written: the common one, and those of areas that have their own. */
export const LogLevels = z.object({ level: LogLevel, levels: z.partialRecord(LogArea, LogLevel) });

const levelChange = LogLevel.nullable().exactOptional();
/** Not a record, because a record checks each unknown area of a caller. */
const levelChanges = Object.fromEntries(LOG_AREAS.map((area) => [area, levelChange])) as Record<
  z.output<typeof LogArea>,
  typeof levelChange
>;

/** New levels. Absent ones stay, and null lets an area follow the common level. */
export const LogLevelChange = z.strictObject({
  level: LogLevel.optional(),
  levels: z.strictObject(levelChanges).optional(),
});

/** One line of the log. */
export const LogRecord = z.object({
  time: z.string(),
  level: LogLevel,
  message: z.string(),
  fields: z.record(z.string(), z.unknown()),
});
export type LogRecord = z.infer<typeof LogRecord>;
