import { AanaError } from '../core/errors.ts';

/** Parameters by the name of the error that they cause. */
export type Blame = Readonly<Record<string, string>>;

/** Runs the work for a request. Errors of `blame` get the parameter that caused them, for the answer. */
export async function blaming<T>(blame: Blame, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw blamed(error, blame);
  }
}

/** Returns an error with the parameter that caused it, in `data.param`; other errors as they are. */
export function blamed(error: unknown, blame: Blame): unknown {
  if (!(error instanceof AanaError) || !Object.hasOwn(blame, error.name)) return error;
  const facts = typeof error.data === 'object' && !Array.isArray(error.data) ? error.data : {};
  return new AanaError(error.name, error.kind, error.message, {
    data: { ...facts, param: blame[error.name] },
    fault: error.fault,
    cause: error,
  });
}
