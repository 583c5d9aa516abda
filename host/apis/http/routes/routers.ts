import type { Context, Middleware } from 'koa';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import { isOwnPath } from '../../../endpoints/registry/index.ts';
import { forwardedPrefix } from '../guards/forwarded.ts';

/** A router of `@koa/router`, of any copy or version. */
export interface RouterLike {
  // With Koa's own type, every program would depend on the types of Koa.
  routes(): (ctx: never, next: () => Promise<unknown>) => unknown;
  match(path: string, method: string): { readonly path: readonly RouteLike[]; readonly route: boolean };
  readonly stack: readonly RouteLike[];
}

interface RouteLike {
  readonly path: string | RegExp;
  /** Empty for middleware, which is not a route. */
  readonly methods: readonly string[];
}

interface Registered {
  readonly name: string;
  readonly router: RouterLike;
  readonly handle: Middleware;
}

/** The routers of the application by name, in the order of registration. */
export class RouterSet {
  readonly #routers = new Map<string, Registered>();
  /** The methods and paths of routes without parameters, such as `GET /pages/new`. */
  #literal: ReadonlySet<string> = new Set();

  /**
   * Adds a router. Throws `RouterError` if its name is taken, or if one of its routes belongs to the host, to another
   * router or to one of `endpoints`.
   */
  add(
    name: string,
    router: RouterLike,
    endpoints: readonly { readonly name: string; readonly path: string; readonly method: string }[],
  ): void {
    if (typeof name !== 'string' || name === '') throw routerError('a router needs a name');
    if (!isRouter(router)) throw routerError(`router ${name}: it is not a router of @koa/router`);
    if (this.#routers.has(name)) throw routerError(`router ${name}: the name is already registered`);
    const taken = endpoints.find(({ path, method }) => router.match(path, method).route);
    if (taken) throw routerError(`router ${name}: the path ${taken.path} already belongs to endpoint ${taken.name}`);
    for (const { path, methods } of router.stack.filter((route) => route.methods.length > 0)) {
      if (typeof path === 'string' && isOwnPath(path))
        throw routerError(`router ${name}: the path ${path} is the host's own`);
      const other = [...this.#routers.values()].find((one) =>
        one.router.stack.some(
          (theirs) => String(theirs.path) === String(path) && theirs.methods.some((method) => methods.includes(method)),
        ),
      );
      if (other)
        throw routerError(`router ${name}: ${methods.at(-1)} ${String(path)} already belongs to router ${other.name}`);
    }
    this.#routers.set(name, { name, router, handle: router.routes() as Middleware });
    this.#changed();
  }

  /** Removes a router. Does nothing if no router has this name. */
  remove(name: string): void {
    this.#routers.delete(name);
    this.#changed();
  }

  names(): string[] {
    return [...this.#routers.keys()];
  }

  /** Returns the owner of requests with this method at this path, such as `router pages`. */
  ownerOf(path: string, method: string): string | undefined {
    const found = this.#find(path, method);
    return found && `router ${found.name}`;
  }

  /** Whether a route has exactly this path, and not only a pattern that it matches. */
  hasRoute(path: string, method: string): boolean {
    return this.#literal.has(`${method} ${path}`);
  }

  /** Returns the handler of the router that has a route for this request. */
  find(path: string, method: string): Middleware | undefined {
    return this.#find(path, method)?.handle;
  }

  /** Returns the methods that routers accept at this path; none if no route matches. */
  methodsAt(path: string): string[] {
    return [
      ...new Set(
        [...this.#routers.values()].flatMap(({ router }) =>
          router.match(path, 'GET').path.flatMap((route) => route.methods),
        ),
      ),
    ];
  }

  /** Whether a router has the root, where the host otherwise tells what it serves. */
  get hasRoot(): boolean {
    return this.methodsAt('/').length > 0;
  }

  /** Returns the template of the first route at this path, such as `/pages/:name`. */
  routeAt(path: string): string | undefined {
    for (const { router } of this.#routers.values()) {
      const route = router.match(path, 'GET').path.find(({ methods }) => methods.length > 0);
      if (route) return String(route.path);
    }
    return undefined;
  }

  #changed(): void {
    const routes = [...this.#routers.values()].flatMap(({ router }) => router.stack);
    this.#literal = new Set(
      routes.flatMap(({ path, methods }) => (typeof path === 'string' ? methods.map((one) => `${one} ${path}`) : [])),
    );
  }

  #find(path: string, method: string): Registered | undefined {
    return [...this.#routers.values()].find(({ router }) => router.match(path, method).route);
  }
}

function isRouter(router: unknown): router is RouterLike {
  const { routes, match, stack } = (router ?? {}) as Partial<RouterLike>;
  return typeof routes === 'function' && typeof match === 'function' && Array.isArray(stack);
}

function routerError(message: string): AanaError {
  return fail('RouterError', message);
}

/**
 * Returns the path under which the application is mounted in another one or behind a proxy, such as `/ai`, or an empty
 * text.
 */
export function mountPath(ctx: Context): string {
  const [path = ''] = ctx.originalUrl.split('?');
  const isPath = path.startsWith('/'); // a client can send a whole URL, as it does to a proxy
  return forwardedPrefix(ctx) + (isPath && path.endsWith(ctx.path) ? path.slice(0, -ctx.path.length) : '');
}
