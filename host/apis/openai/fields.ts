import type * as z from 'zod';
import { type AanaError, fail } from '../../base/core/errors.ts';
import type { IdleField } from '../openapi/index.ts';
import type { HostedPart } from './hosted-parts.ts';
import type { HostedTools, HostedToolsPolicy } from './hosted-tools.ts';
import { checkedValue, type ValidationEntry, validationEntries } from '../../base/schemas/index.ts';

/** The parameters of a route: those that have an effect, with their schemas, and those that have none. */
export interface RequestFields<Shape extends z.core.$ZodShape = z.core.$ZodShape> {
  readonly schema: z.ZodObject<Shape>;
  /**
   * `reasoning.summary` is a member of the object `reasoning`, and `tools[].strict` one of the objects in the list
   * `tools`.
   */
  readonly idle: Readonly<Record<string, IdleField>>;
  /** What of the parameter `tools` only the servers of others run. */
  readonly hostedTools?: HostedTools;
  /** Finds what of the dialog of a checked request only the server that made it can use. */
  hostedParts?(request: z.output<z.ZodObject<Shape>>): readonly HostedPart[];
}

/** A checked request, and the names of its parameters that have no effect. */
export interface ReadRequest<Request> {
  readonly request: Request;
  readonly ignored: readonly string[];
}

/** More names than this are not worth a header. */
export const MAX_IGNORED = 50;
/** Returns a name as a header can carry it. */
export const headerName = (name: string): string => (/^[\w.[\]$-]{1,128}$/.test(name) ? name : '?');

const ONLY_ITS_SERVER = 'only the server that made it can read it';

export interface ReadOptions {
  readonly strict: boolean;
  /** Default: `refuse`. With `strict` they are always refused. */
  readonly hostedTools?: HostedToolsPolicy;
  /** Where in the request of the client the parameters are. */
  readonly path?: readonly string[];
}

/**
 * Checks a request against the parameters of its route. Throws `ValidationError`, whose `data.param` names the first
 * wrong parameter. With `strict` a parameter without effect is such an error; otherwise its name is in `ignored`,
 * unless a request with it is always refused. A hosted tool is refused, or `ignored` has its type as in
 * `tools[].web_search`. So it has the types of hosted parts of the dialog.
 */
export function readRequest<Shape extends z.core.$ZodShape>(
  { schema, idle, hostedTools: hosted, hostedParts: partsOf }: RequestFields<Shape>,
  input: unknown,
  { strict, hostedTools: policy = 'refuse', path = [] }: ReadOptions,
): ReadRequest<z.output<z.ZodObject<Shape>>> {
  const { value: request, issues } = checkedValue(schema, input);
  if (issues) throw wrongRequest(validationEntries(issues, input), path);
  const ignored = new Set<string>();
  for (const { name, at, value } of [...parametersOf(input as Members), ...membersOf(input as Members, idle)]) {
    if (Object.hasOwn(schema.shape, name)) continue;
    const field = Object.hasOwn(idle, name) ? idle[name] : undefined;
    if (value === null || field?.isHarmless || field?.neutral?.some((one) => isSame(one, value))) continue;
    if (strict || field?.isRefused)
      throw unsupported(paramOf([...path, ...at]), field?.why ?? 'this server does not know it');
    if (ignored.size < MAX_IGNORED) ignored.add(headerName(name));
  }
  const { tools } = request as { readonly tools?: readonly { readonly type?: string | null }[] | null };
  for (const [n, tool] of (hosted && tools ? tools : []).entries()) {
    const type = hosted!.typeOf(tool);
    if (type === undefined) continue;
    if (strict || policy === 'refuse') throw unsupported(paramOf([...path, 'tools', n, 'type']), hosted!.why);
    if (ignored.size < MAX_IGNORED) ignored.add(headerName(`tools[].${type}`));
  }
  for (const { at, name, isCompaction } of partsOf?.(request) ?? []) {
    if (isCompaction) throw unsupported(paramOf([...path, ...at]), `${ONLY_ITS_SERVER}; send the dialog itself`);
    if (strict) throw unsupported(paramOf([...path, ...at]), ONLY_ITS_SERVER);
    if (ignored.size < MAX_IGNORED) ignored.add(headerName(name));
  }
  return { request, ignored: [...ignored] };
}

type Members = Readonly<Record<string, unknown>>;

/** A parameter of a request, or a member of one. */
interface Given {
  /** The name in {@link RequestFields.idle}. */
  readonly name: string;
  readonly at: readonly (string | number)[];
  readonly value: unknown;
}

const parametersOf = (input: Members): Given[] =>
  Object.entries(input).map(([name, value]) => ({ name, at: [name], value }));

/** Returns the members of objects that have no effect and that a request has. */
function membersOf(input: Members, idle: RequestFields['idle']): Given[] {
  return Object.keys(idle).flatMap((name): Given[] => {
    const [outer = '', inner] = name.split('.');
    if (inner === undefined) return [];
    const key = outer.replace(/\[\]$/, '');
    const value = Object.hasOwn(input, key) ? input[key] : undefined;
    if (key === outer) return memberOf(value, inner, name, [key]);
    return Array.isArray(value) ? value.flatMap((item, n) => memberOf(item, inner, name, [key, n])) : [];
  });
}

function memberOf(object: unknown, inner: string, name: string, at: readonly (string | number)[]): Given[] {
  if (typeof object !== 'object' || object === null || !Object.hasOwn(object, inner)) return [];
  return [{ name, at: [...at, inner], value: (object as Members)[inner] }];
}

/** Returns the error for a parameter, named as in `messages[0].content`, that cannot be honoured. */
export function unsupported(param: string, why: string): AanaError {
  return fail('UnsupportedParameter', `Unsupported parameter: '${param.slice(0, 200)}': ${why}`, {
    data: { param: param.slice(0, 200) },
  });
}

/** Returns the error for a value of a parameter. */
export function invalidValue(param: string, why: string): AanaError {
  return fail('InvalidParameter', `Invalid value for '${param}': ${why}`, { data: { param } });
}

function wrongRequest(entries: readonly ValidationEntry[], path: readonly string[]): AanaError {
  const [first] = entries;
  const whole = [...path, ...(first?.loc ?? [])];
  const param = whole.length > 0 ? paramOf(whole) : null;
  const more = entries.length > 1 ? ` (and ${entries.length - 1} more)` : '';
  const where = param === null ? 'The request body' : `'${param}'`;
  return fail('InvalidParameter', `${where}: ${first?.msg ?? 'it is not valid'}${more}`, {
    data: { param, ...(first?.type === 'missing' && { code: 'missing_required_parameter' }) },
  });
}

/** Returns `messages[0].content` for the path of that value. */
export function paramOf(path: readonly (string | number)[]): string {
  return path
    .map((key, n) => (typeof key === 'number' ? `[${key}]` : n === 0 ? key : `.${key}`))
    .join('')
    .slice(0, 200);
}

const isSame = (one: unknown, other: unknown): boolean =>
  one === other || (Array.isArray(one) && JSON.stringify(one) === JSON.stringify(other));
