import { AanaError } from '../core/errors.ts';
import type { Endpoint } from './endpoint.ts';
import { type EndpointSource, pluginEndpoints } from './plugin-endpoint.ts';

const NAME = /^[A-Za-z0-9_-]{1,64}$/;
const PATH = /^(\/[A-Za-z0-9._~-]+)+$/;
/** Paths of the host itself, with all below them. */
const RESERVED = ['/api', '/docs', '/redoc', '/openapi.json', '/tasks', '/webhooks', '/chat', '/v1'];

/** The endpoints that are served, by name and by path. */
export class EndpointRegistry {
  readonly #byName = new Map<string, Endpoint>();

  /** Refuses a name or path that is taken, is the host's own, or is not well formed. */
  add(endpoint: Endpoint): void {
    this.#check(endpoint);
    this.#byName.set(endpoint.name, endpoint);
  }

  /** Adds all endpoints of a plugin, or none. */
  addPlugin(plugin: EndpointSource): void {
    const endpoints = pluginEndpoints(plugin);
    const added: string[] = [];
    try {
      for (const endpoint of endpoints) {
        this.add(endpoint);
        added.push(endpoint.name);
      }
    } catch (error) {
      for (const name of added) this.remove(name);
      throw error;
    }
  }

  /** Puts a plugin's endpoints in place of those of `previous`, all at once; leaves everything as it was when one of them is refused. */
  replacePlugin(previous: string | undefined, plugin: EndpointSource): void {
    const before = [...this.#byName];
    try {
      if (previous !== undefined) this.removePlugin(previous);
      this.addPlugin(plugin);
    } catch (error) {
      this.#byName.clear();
      for (const [name, endpoint] of before) this.#byName.set(name, endpoint);
      throw error;
    }
  }

  /** Silent when there is none of that name. */
  remove(name: string): void {
    this.#byName.delete(name);
  }

  removePlugin(plugin: string): void {
    for (const endpoint of this.list()) if (endpoint.plugin === plugin) this.remove(endpoint.name);
  }

  find(path: string): Endpoint | undefined {
    return this.list().find((endpoint) => endpoint.path === path);
  }

  get(name: string): Endpoint | undefined {
    return this.#byName.get(name);
  }

  /** In the order of registration. */
  list(): Endpoint[] {
    return [...this.#byName.values()];
  }

  #check({ name, path }: Endpoint): void {
    if (!NAME.test(name)) throw endpointError(`endpoint ${JSON.stringify(name)}: a name has 1 to 64 letters, digits, "_" or "-"`);
    if (!PATH.test(path)) throw endpointError(`endpoint ${name}: ${JSON.stringify(path)} is not a path such as "/video/transcribe"`);
    const own = RESERVED.find((reserved) => path === reserved || path.startsWith(`${reserved}/`));
    if (own !== undefined) throw endpointError(`endpoint ${name}: the path ${path} is the host's own`);
    if (this.#byName.has(name)) throw endpointError(`endpoint ${name}: the name is already registered`);
    const other = this.find(path);
    if (other) throw endpointError(`endpoint ${name}: the path ${path} already belongs to ${other.name}`);
  }
}

function endpointError(message: string): AanaError {
  return new AanaError('EndpointError', 'conflict', message);
}
