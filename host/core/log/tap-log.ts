import { areaOf, LOG_LEVELS, type LogFields, type Logger, type LogLevel, type LogRecord } from './logger.ts';

/**
 * Returns a logger that writes to `log` and also passes records to `add`: those of the level that `levelOf` returns for
 * their area, or above.
 */
export function tapLog(
  log: Logger,
  levelOf: (area: string | undefined) => LogLevel,
  add: (record: LogRecord) => void,
  bound: LogFields = {},
): Logger {
  const area = areaOf(bound);
  const take = (at: LogLevel, message: string, fields: LogFields = {}): void => {
    log[at](message, fields);
    if (LOG_LEVELS[at] >= LOG_LEVELS[levelOf(area)])
      add({ time: new Date().toISOString(), level: at, message, fields: { ...bound, ...fields } });
  };
  return {
    debug: (message, fields) => take('debug', message, fields),
    info: (message, fields) => take('info', message, fields),
    warn: (message, fields) => take('warn', message, fields),
    error: (message, fields) => take('error', message, fields),
    child: (fields) => tapLog(log.child(fields), levelOf, add, { ...bound, ...fields }),
  };
}
