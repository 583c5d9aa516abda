/** Variables by which systemd tells a service how to reach it. Only the host speaks for the service. */
export const SERVICE_MANAGER_VARIABLES = ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID'] as const;

/** How this process reaches the service manager that started it. */
export interface ServiceManagerAddress {
  /** Environment of the command that sends messages. */
  readonly env: NodeJS.ProcessEnv;
  /** Time between two messages to the watchdog, in milliseconds. Undefined: this process is not watched. */
  readonly watchdogMs: number | undefined;
}

/**
 * Returns how to reach the service manager, and removes its variables from `env`. Undefined if no service manager waits
 * for messages.
 */
export function takeServiceManager(env: NodeJS.ProcessEnv = process.env): ServiceManagerAddress | undefined {
  const [socket, watchdog, watched] = SERVICE_MANAGER_VARIABLES.map((name) => env[name]);
  for (const name of SERVICE_MANAGER_VARIABLES) delete env[name];
  if (!socket) return undefined;
  const microseconds = Number(watchdog);
  const isWatched = microseconds > 0 && (!watched || Number(watched) === process.pid);
  return {
    env: { PATH: env['PATH'], NOTIFY_SOCKET: socket },
    watchdogMs: isWatched ? microseconds / 2000 : undefined, // twice in the time that is allowed
  };
}
