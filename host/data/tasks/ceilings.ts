/** Limits of one user, named like the settings `TASK_QUEUE__…`; times in seconds. */
export interface CeilingsConfig {
  readonly maximum_waiting_tasks_per_user: number;
  readonly maximum_stored_bytes_per_user: number;
  readonly maximum_watchers_per_user: number;
  readonly maximum_priority: number;
  readonly maximum_execution_timeout: number;
}

export interface UserCeilingsConfig extends CeilingsConfig {
  /** Limits of single users by id. Each replaces the common limit. */
  readonly users: Readonly<Record<string, { readonly [K in keyof CeilingsConfig]?: CeilingsConfig[K] | undefined }>>;
}

/** Limits of one caller; undefined is no limit. */
export interface Ceilings {
  readonly maxWaiting: number | undefined;
  /** Most bytes that the tasks of the user keep. */
  readonly maxBytes: number | undefined;
  readonly maxWatchers: number | undefined;
  readonly maxPriority: number | undefined;
  readonly maxExecutionTimeoutS: number | undefined;
}

/**
 * Returns the limits of a user. A caller without a user (null, when the host requires no keys) has no limits. An admin
 * may request any priority and time.
 */
export function ceilingsOf(config: UserCeilingsConfig, userId: string | null, isAdmin: boolean): Ceilings {
  if (userId === null)
    return {
      maxWaiting: undefined,
      maxBytes: undefined,
      maxWatchers: undefined,
      maxPriority: undefined,
      maxExecutionTimeoutS: undefined,
    };
  const own = Object.hasOwn(config.users, userId) ? config.users[userId] : undefined;
  return {
    maxWaiting: own?.maximum_waiting_tasks_per_user ?? config.maximum_waiting_tasks_per_user,
    // 0 is no limit.
    maxBytes: (own?.maximum_stored_bytes_per_user ?? config.maximum_stored_bytes_per_user) || undefined,
    maxWatchers: own?.maximum_watchers_per_user ?? config.maximum_watchers_per_user,
    maxPriority: isAdmin ? undefined : (own?.maximum_priority ?? config.maximum_priority),
    maxExecutionTimeoutS: isAdmin ? undefined : (own?.maximum_execution_timeout ?? config.maximum_execution_timeout),
  };
}
