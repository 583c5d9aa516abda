import { fail } from '../../../base/core/errors.ts';
import type { BoundDeployment } from '../class/bound-deployment.ts';

/** Deployments by name. */
export type Bound = ReadonlyMap<string, BoundDeployment>;

/** Returns the names of the deployments that a deployment calls. */
export const calleesOf = ({ options }: BoundDeployment): string[] => [...new Set(Object.values(options.handles ?? {}))];

/** Returns a deployment that also calls those that `next` calls. */
export function withCalleesOf(bound: BoundDeployment, next: BoundDeployment): BoundDeployment {
  const names = [...calleesOf(bound), ...calleesOf(next)];
  return { ...bound, options: { ...bound.options, handles: Object.fromEntries(names.map((name) => [name, name])) } };
}

/** Throws `ValidationError`, which has the path, if a deployment calls itself, perhaps through others. */
export function requireNoCycle(name: string, all: Bound): void {
  const path = pathBetween(name, name, all, new Set());
  if (path)
    throw fail(
      'ValidationError',
      `deployment ${name}: handles: a deployment must not call itself: ${[name, ...path].join(' → ')}`,
    );
}

/**
 * Throws `ValidationError`, which has the key, if a deployment calls one that is not there, or that lacks the method
 * for which it is called, or has a streaming one.
 */
export function requireCallees(name: string, all: Bound): void {
  const { definition, options } = all.get(name) ?? {};
  const refuse = (key: string, why: string): never => {
    throw fail('ValidationError', `deployment ${name}: handles.${key}: ${why}`);
  };
  for (const [key, callee] of Object.entries(options?.handles ?? {})) {
    const called = all.get(callee);
    if (!called) return refuse(key, `there is no deployment ${callee}; deployments are: ${[...all.keys()].join(', ')}`);
    const method = definition?.optionalHandles?.[key];
    if (method === undefined) continue;
    const { name: type, methods } = called.definition;
    const found = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (!found) refuse(key, `the deployment ${callee} is a ${type} and has no method ${method}`);
    if (found?.streaming) refuse(key, `the deployment ${callee} is a ${type} whose method ${method} is streaming`);
  }
}

/** Returns the names in an order in which each comes after those that it calls. There is no cycle. */
export function calleesFirst(names: Iterable<string>, all: Bound): string[] {
  const wanted = new Set(names);
  const ordered = new Set<string>();
  const visit = (name: string): void => {
    if (ordered.has(name)) return;
    const bound = all.get(name);
    if (bound) calleesOf(bound).forEach(visit);
    ordered.add(name);
  };
  wanted.forEach(visit);
  return [...ordered].filter((name) => wanted.has(name));
}

/** Returns the names of the deployments that call `callee`. */
export const callersOf = (callee: string, all: Bound): string[] =>
  [...all].filter(([, bound]) => calleesOf(bound).includes(callee)).map(([name]) => name);

/** Returns the names after `from` on a path of calls to `to`; undefined if there is none. */
function pathBetween(from: string, to: string, all: Bound, seen: Set<string>): string[] | undefined {
  const bound = all.get(from);
  if (!bound || seen.has(from)) return undefined;
  seen.add(from);
  for (const callee of calleesOf(bound)) {
    const rest = callee === to ? [] : pathBetween(callee, to, all, seen);
    if (rest) return [callee, ...rest];
  }
  return undefined;
}
