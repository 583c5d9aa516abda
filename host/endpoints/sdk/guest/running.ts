/** Whether an endpoint runs. While the component is built, the top level of modules runs without a host. */
export const running = { isOn: false };

/** Throws when a library needs the host while the component is built. */
export function mustRun(what: string): void {
  if (!running.isOn)
    throw new Error(`${what} needs the host, which exists only inside "run", not while the component is built`);
}
