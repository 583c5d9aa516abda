import { fail } from '../../base/core/errors.ts';
import { beginsLike, overlap, PATH, PathTree } from '../../base/core/net/route-paths.ts';
import type { ServedEndpoint } from './endpoint.ts';
import { checkParameters, methodOf } from './parameters.ts';
import { type ChosenEndpoint, chosenFrom, type EndpointSource, pluginEndpoints } from './plugin-endpoint.ts';

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** Paths of the host itself. Every path below them is its own, too. */
const RESERVED = [
  '/api',
  '/docs',
  '/redoc',
  '/openapi.json',
  '/tasks',
  '/webhooks',
  '/chat',
  '/v1',
  '/mcp',
  '/asr/live',
  '/livez',
  '/readyz',
  '/health',
  '/ping',
  '/version',
  '/tokenize',
  '/detokenize',
  '/metrics',
];

/** The origin of a loaded plugin, and whether all of its endpoints are served or only the chosen ones. */
export interface PluginOrigin {
  readonly source: string;
  readonly isWhole: boolean;
}

interface Names extends Pick<ServedEndpoint, 'name' | 'path'> {
  readonly method: 'GET' | 'POST';
}

/** The endpoints that are served, by name and by path. */
export class EndpointRegistry {
  readonly #byName = new Map<string, ServedEndpoint>();
  /**
   * Endpoints of components under names that the application has chosen. They are served after their component is
   * loaded.
   */
  readonly #chosen = new Map<string, ChosenEndpoint>();
  /** Endpoints of plugins that were removed. A reload does not add them again. */
  readonly #removed = new Set<string>();
  readonly #ownerOf: (path: string, method: string) => string | undefined;
  readonly #hasRoute: (path: string, method: string) => boolean;
  readonly #listeners = new Set<() => void>();
  /** Made by the first look-up after a change. */
  #byPath: PathTree<ServedEndpoint> | undefined;
  #version = 0;

  /**
   * `ownerOf` returns the owner of a path and method that no endpoint has, such as `router pages`. `hasRoute` says
   * whether exactly this path has a route, which then goes before an endpoint whose template it matches.
   */
  constructor({
    ownerOf = () => undefined,
    hasRoute = () => false,
  }: {
    readonly ownerOf?: (path: string, method: string) => string | undefined;
    readonly hasRoute?: (path: string, method: string) => boolean;
  } = {}) {
    this.#ownerOf = ownerOf;
    this.#hasRoute = hasRoute;
  }

  /** A number that grows with each change of the served endpoints. */
  get version(): number {
    return this.#version;
  }

  /**
   * Calls `listener` after each change of the served endpoints. A plugin that is replaced is several changes in one
   * turn of the event loop.
   */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /**
   * Serves an endpoint. Throws `EndpointError` if its name or path is malformed, and `EndpointConflict` if one is
   * taken.
   */
  add(endpoint: ServedEndpoint): void {
    this.#checkServed(endpoint);
    this.#serve(endpoint);
  }

  /** Reserves a name and a path for an endpoint of a component that is not loaded yet. Throws as `add` does. */
  choose(chosen: ChosenEndpoint): void {
    this.#check({ ...chosen, method: 'POST' }); // the method is known when the component is loaded
    this.#chosen.set(chosen.name, chosen);
  }

  /** Whether endpoints of this component were chosen. */
  isChosen(source: string): boolean {
    return [...this.#chosen.values()].some((one) => one.source === source);
  }

  /**
   * Adds the endpoints of a plugin: all under their own names, or the chosen ones. If one of them is refused, adds
   * none.
   */
  addPlugin(plugin: EndpointSource, { source, isWhole }: PluginOrigin = { source: '', isWhole: true }): void {
    const all = pluginEndpoints(plugin);
    const given = [...this.#chosen.values()]
      .filter((one) => one.source === source)
      .map((chosen) => ({ chosen, found: chosenFrom(all, chosen) }));
    const renamed = new Set(given.map(({ found }) => found));
    const whole = isWhole
      ? all.filter((endpoint) => !renamed.has(endpoint) && !this.#removed.has(keyOf(endpoint)))
      : [];
    const added: string[] = [];
    try {
      for (const endpoint of [...given.map(({ chosen, found }) => named(found, chosen)), ...whole]) {
        this.#checkServed(endpoint, this.#chosen.get(endpoint.name)?.source === source);
        this.#serve(endpoint);
        added.push(endpoint.name);
      }
    } catch (error) {
      for (const name of added) this.#drop(name);
      throw error;
    }
  }

  /**
   * Replaces the endpoints of `previous` with the endpoints of a plugin, all at once. If one of them is refused,
   * nothing changes.
   */
  replacePlugin(previous: string | undefined, plugin: EndpointSource, origin?: PluginOrigin): void {
    const before = [...this.#byName];
    try {
      if (previous !== undefined) this.removePlugin(previous);
      this.addPlugin(plugin, origin);
    } catch (error) {
      this.#byName.clear();
      for (const [, endpoint] of before) this.#serve(endpoint);
      throw error;
    }
  }

  /** Removes an endpoint for good. Returns its source, or undefined if no endpoint has this name. */
  remove(name: string): { readonly source: string | undefined } | undefined {
    const served = this.#byName.get(name);
    const chosen = this.#chosen.get(name);
    if (!served && !chosen) return undefined;
    this.#drop(name);
    this.#chosen.delete(name);
    if (served?.plugin !== undefined && !chosen) this.#removed.add(keyOf(served));
    return { source: chosen?.source };
  }

  removePlugin(plugin: string): void {
    for (const endpoint of this.list()) if (endpoint.plugin === plugin) this.#drop(endpoint.name);
  }

  /** Returns the endpoint of a path, or of a path that matches its template and has no route of its own. */
  find(path: string): ServedEndpoint | undefined {
    if (!this.#byPath) {
      this.#byPath = new PathTree();
      for (const endpoint of this.#byName.values()) this.#byPath.set(endpoint.path, endpoint);
    }
    const found = this.#byPath.find(path);
    return found && found.path !== path && this.#hasRoute(path, methodOf(found)) ? undefined : found;
  }

  get(name: string): ServedEndpoint | undefined {
    return this.#byName.get(name);
  }

  /** Returns the endpoints in the order of registration. */
  list(): ServedEndpoint[] {
    return [...this.#byName.values()];
  }

  /** Returns the names and paths that are taken, also by endpoints that are not loaded yet. */
  taken(): Names[] {
    return [
      ...this.list().map((endpoint) => ({ ...namesOf(endpoint), method: methodOf(endpoint) })),
      ...[...this.#chosen.values()].map((chosen) => ({ ...namesOf(chosen), method: 'POST' as const })),
    ];
  }

  #serve(endpoint: ServedEndpoint): void {
    this.#byName.set(endpoint.name, endpoint);
    this.#changed();
  }

  #drop(name: string): void {
    this.#byName.delete(name);
    this.#changed();
  }

  #changed(): void {
    this.#byPath = undefined;
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  }

  /** `isKept`: name and path were reserved for this endpoint. */
  #checkServed(endpoint: ServedEndpoint, isKept = false): void {
    this.#check({ ...namesOf(endpoint), method: methodOf(endpoint) }, isKept);
    checkParameters(endpoint);
  }

  #check({ name, path, method }: Names, isKept = false): void {
    if (!NAME.test(name))
      throw fail('EndpointError', `endpoint ${JSON.stringify(name)}: a name has 1 to 64 letters, digits, "_" or "-"`);
    if (!PATH.test(path))
      throw fail(
        'EndpointError',
        `endpoint ${name}: ${JSON.stringify(path)} is not a path such as "/video/transcribe" or "/items/{id}"`,
      );
    if (isOwnPath(path)) throw fail('EndpointConflict', `endpoint ${name}: the path ${path} is the host's own`);
    const others = this.taken().filter((one) => !isKept || one.name !== name);
    if (others.some((one) => one.name === name))
      throw fail('EndpointConflict', `endpoint ${name}: the name is already registered`);
    const other = others.find((one) => overlap(one.path, path))?.name ?? this.#ownerOf(path, method);
    if (other !== undefined)
      throw fail('EndpointConflict', `endpoint ${name}: the path ${path} already belongs to ${other}`);
  }
}

/** Whether a path belongs to the host itself. */
export function isOwnPath(path: string): boolean {
  return RESERVED.some((reserved) => beginsLike(path, reserved));
}

/** Returns an endpoint with the name, the path and the texts that the application gives it. */
function named(
  found: ServedEndpoint,
  { source: _source, endpoint: _endpoint, summary, description, ...given }: ChosenEndpoint,
): ServedEndpoint {
  return { ...found, ...given, summary: summary ?? found.summary, description: description ?? found.description };
}

const namesOf = ({ name, path }: Pick<ServedEndpoint, 'name' | 'path'>) => ({ name, path });

function keyOf({ plugin, name }: ServedEndpoint): string {
  return `${plugin}/${name}`;
}
