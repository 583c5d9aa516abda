/** Reports that a test does not run on this machine, with the reason. The runner counts these lines as skipped. */
export function skip(title: string, reason: string): void {
  process.stdout.write(`SKIP ${title}: ${reason}\n`);
}
