/** Says that a test does not run here, and why; the runner counts these lines as skipped. */
export function skip(title: string, reason: string): void {
  process.stdout.write(`SKIP ${title}: ${reason}\n`);
}
