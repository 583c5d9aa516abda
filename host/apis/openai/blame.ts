import { AanaError } from '../../base/core/errors.ts';
import { paramOf } from './fields.ts';

/**
 * Parameters by what is wrong: the name of an error, an argument of a deployment's method, such as `params.language`,
 * or a parameter of a request that was made of another one. What is inside of an argument keeps its path: with
 * `{'dialog.messages[2]': 'input[1]'}`, `dialog.messages[2].content` is `input[1].content`. The longest argument
 * counts, and an empty parameter stands for the request itself.
 */
export type Blame = Readonly<Record<string, string>>;

/**
 * Runs the work for a request. Its errors get the parameter that caused them, for the answer. With several translations
 * the blame of the last one comes first.
 */
export async function blaming<T>(blame: Blame | readonly Blame[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw blamed(error, blame);
  }
}

/** Returns an error with the parameter that caused it, in `data.param`; other errors as they are. */
export function blamed(error: unknown, blame: Blame | readonly Blame[]): unknown {
  if (!(error instanceof AanaError)) return error;
  const [first = {}, ...others] = [blame].flat();
  const argument = wrongArgument(error);
  if (argument) return wrongValue(error, paramThrough(argument.path, [first, ...others]), argument.why);
  if (Object.hasOwn(first, error.name)) return withParam(error, paramThrough(first[error.name]!, others));
  const given = paramIn(error);
  const param = given && paramThrough(given, [first, ...others]);
  return given === param
    ? error
    : withParam(
        error,
        param!,
        error.message.replace(`'${given}'`, () => `'${param}'`),
      );
}

/** Returns the parameter of a request for a path in what was made of it. */
export function paramThrough(path: string, blames: readonly Blame[]): string {
  return blames.reduce((inner, blame) => paramBehind(inner, blame), path);
}

function paramBehind(path: string, blame: Blame): string {
  for (let end = path.length; end > 0; end = Math.max(path.lastIndexOf('.', end - 1), path.lastIndexOf('[', end - 1))) {
    const head = path.slice(0, end);
    if (Object.hasOwn(blame, head)) return (blame[head]! + path.slice(end)).replace(/^\./, '');
  }
  return path;
}

function withParam({ name, kind, fault, message, data }: AanaError, param: string, text = message): AanaError {
  const facts = typeof data === 'object' && data !== null && !Array.isArray(data) ? data : {};
  return new AanaError(name, kind, text, { data: { ...facts, param }, fault });
}

function wrongValue({ name, fault }: AanaError, param: string, why: string): AanaError {
  const message = `Invalid value for '${param}': ${why}`;
  return new AanaError(name === 'ValidationError' ? 'InvalidParameter' : name, 'bad-request', message, {
    data: { param },
    fault,
  });
}

/** Returns the parameter that an error names. */
function paramIn({ data }: AanaError): string | undefined {
  const { param } = (data ?? {}) as { readonly param?: unknown };
  return typeof param === 'string' ? param : undefined;
}

/** Returns the first argument that a deployment refused. */
function wrongArgument({ data }: AanaError): { readonly path: string; readonly why: string } | undefined {
  if (!Array.isArray(data)) return undefined;
  const [entry] = data as readonly { readonly loc?: unknown; readonly msg?: unknown }[];
  if (!Array.isArray(entry?.loc) || typeof entry.msg !== 'string') return undefined;
  return { path: paramOf(entry.loc as (string | number)[]), why: entry.msg };
}
