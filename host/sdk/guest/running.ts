/** Whether an endpoint runs. While the component is built, a module's top level runs too, and there is no host. */
export const running = { isOn: false };

/** Throws where a library asks the host for something before there is one. */
export function mustRun(what: string): void {
  if (!running.isOn)
    throw new Error(`${what} needs the host, which is there inside "run" only, not while the component is built`);
}
