import { AanaError } from '../core/errors.ts';
import { invalidValue, paramOf } from './fields.ts';

/**
 * Parameters by what is wrong: the name of an error, or an argument of a deployment's method, such as `params.language`.
 */
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
  if (!(error instanceof AanaError)) return error;
  const argument = wrongArgument(error);
  if (argument && Object.hasOwn(blame, argument.name)) return invalidValue(blame[argument.name]!, argument.why);
  if (!Object.hasOwn(blame, error.name)) return error;
  const facts = typeof error.data === 'object' && !Array.isArray(error.data) ? error.data : {};
  return new AanaError(error.name, error.kind, error.message, {
    data: { ...facts, param: blame[error.name] },
    fault: error.fault,
    cause: error,
  });
}

/** Returns the first argument that a deployment refused. */
function wrongArgument({ name, data }: AanaError): { readonly name: string; readonly why: string } | undefined {
  if (name !== 'ValidationError' || !Array.isArray(data)) return undefined;
  const [entry] = data as readonly { readonly loc?: unknown; readonly msg?: unknown }[];
  if (!Array.isArray(entry?.loc) || typeof entry.msg !== 'string') return undefined;
  return { name: paramOf(entry.loc as (string | number)[]), why: entry.msg };
}
