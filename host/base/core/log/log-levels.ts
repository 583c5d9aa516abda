import type { Logger, LogLevel } from './logger.ts';

/** The parts of a host whose log lines have levels of their own. */
export const LOG_AREAS = [
  'application',
  'http',
  'access',
  'deployments',
  'plugins',
  'models',
  'media',
  'storage',
  'tasks',
  'webhooks',
  'openai',
  'telemetry',
  'alerts',
  'usage',
] as const;
export type LogArea = (typeof LOG_AREAS)[number];

/** A change of levels. The level null lets an area follow the common level. Absent levels stay. */
export interface LogLevelChange {
  readonly level?: LogLevel | undefined;
  readonly levels?: Readonly<Partial<Record<LogArea, LogLevel | null>>> | undefined;
}

/** The lowest levels that are written: a common one, and those of areas that differ. They may change at any time. */
export class LogLevels {
  #common: LogLevel;
  readonly #ofAreas = new Map<string, LogLevel>();
  #changes = 0;

  constructor(level: LogLevel, levels: LogLevelChange['levels'] = {}) {
    this.#common = level;
    this.change({ levels });
  }

  /** Number of changes so far. */
  get changes(): number {
    return this.#changes;
  }

  /** Returns the level of an area. An unknown area has the common level. */
  of(area: string | undefined): LogLevel {
    return (area === undefined ? undefined : this.#ofAreas.get(area)) ?? this.#common;
  }

  change({ level, levels = {} }: LogLevelChange): void {
    this.#changes += 1;
    this.#common = level ?? this.#common;
    for (const [area, own] of Object.entries(levels)) {
      if (own === null) this.#ofAreas.delete(area);
      else this.#ofAreas.set(area, own);
    }
    this.onChange?.();
  }

  /** Takes the levels that {@link list} of another process has returned. */
  set({ level, levels }: ReturnType<LogLevels['list']>): void {
    this.#ofAreas.clear();
    this.change({ level, levels });
  }

  /** Called after each change. */
  onChange: (() => void) | undefined;

  /** Returns the common level, and the levels of the areas that have their own. */
  list(): { level: LogLevel; levels: Partial<Record<LogArea, LogLevel>> } {
    return { level: this.#common, levels: Object.fromEntries(this.#ofAreas) };
  }
}

/** Returns a logger whose lines belong to an area, which they have as a field. */
export function inArea(log: Logger, area: LogArea): Logger {
  return log.child({ area });
}
