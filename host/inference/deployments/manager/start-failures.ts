import { AanaError, fail } from '../../../base/core/errors.ts';

export interface StartFailure {
  readonly deployment: string;
  readonly error: unknown;
}

/**
 * Returns one error for all deployments that failed to start: a single failure unchanged, else one with a line for
 * each.
 */
export function startFailure(failures: readonly StartFailure[]): unknown {
  const [first, ...others] = failures;
  if (others.length === 0) return first?.error;
  const lines = failures.map(({ error }) => (error instanceof Error ? error.message : String(error)));
  const reasons = Object.fromEntries(failures.map(({ deployment }, index) => [deployment, lines[index]]));
  const isAllWant = failures.every(({ error }) => error instanceof AanaError && error.name === 'InsufficientResources');
  return fail(
    isAllWant ? 'InsufficientResources' : 'FailedDeployment',
    `${failures.length} deployments failed:\n${lines.map((line) => `  ${line}`).join('\n')}`,
    {
      data: { deployments: reasons },
      cause: first?.error,
    },
  );
}
