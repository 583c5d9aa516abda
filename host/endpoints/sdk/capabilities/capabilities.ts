import type { HandleScope } from './handles.ts';
import { createRemote, type RemoteMembers } from './helper.ts';
import { Context } from '../context.ts';
import { HostError } from '../host-error.ts';
import type { Host } from '../host.ts';
import {
  createRepositories,
  createRepositoriesWrite,
  type Repositories,
  type RepositoriesWrite,
} from './repositories.ts';
import { Storage } from './storage.ts';
import { Vectors } from './vectors.ts';

/** Members that `ctx` has when the endpoint's `uses` names the capability. */
interface CapabilityMembers {
  storage: { readonly storage: Storage };
  vectors: { readonly vectors: Vectors };
  repositories: { readonly repositories: Repositories };
  'repositories-write': { readonly repositories: RepositoriesWrite };
  remote: RemoteMembers;
}

/** Capabilities that `plugin.json` must request. */
export type Capability = keyof CapabilityMembers;

type Both<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void ? I : never;
/** The members of `ctx` for the capabilities `U`. */
export type Uses<U extends Capability> = [U] extends [never] ? unknown : Both<CapabilityMembers[U]>;

const members: { readonly [C in Capability]: (host: Host, scope: HandleScope) => CapabilityMembers[C] | undefined } = {
  storage: ({ storage }) => storage && { storage: new Storage(storage) },
  vectors: ({ vectors }) => vectors && { vectors: new Vectors(vectors) },
  repositories: ({ repositories }) => repositories && { repositories: createRepositories(repositories) },
  'repositories-write': ({ 'repositories-write': write }) => write && { repositories: createRepositoriesWrite(write) },
  remote: ({ remote }, scope) => remote && createRemote(remote, scope),
};

const ofRepositories = ['repositories', 'repositories-write'] as const;

/** The members of `ctx` that need a capability in `uses`, with the names of those that give it. */
const givenBy: Readonly<Record<string, readonly Capability[]>> = {
  storage: ['storage'],
  vectors: ['vectors'],
  repositories: ofRepositories,
  runRemote: ['remote'],
};

/** Returns the error for a member of `ctx` whose capability the endpoint does not name. */
function notInUses(what: string, capabilities: readonly Capability[]): HostError {
  const names = capabilities.map((name) => JSON.stringify(name)).join(' or ');
  const message =
    `${what} needs ${names} in "uses" of the endpoint and in "capabilities" in plugin.json; ctx of a helper does ` +
    `not have it`;
  return new HostError('CapabilityDenied', 'denied', message, { data: { capability: capabilities[0] } });
}

// On the prototype, so that a run without them pays nothing.
for (const [member, capabilities] of Object.entries(givenBy))
  Object.defineProperty(Context.prototype, member, {
    get() {
      throw notInUses(`ctx.${member}`, capabilities);
    },
    set(value: unknown) {
      Object.defineProperty(this, member, { value, enumerable: true, configurable: true, writable: true });
    },
  });

/** Returns the repositories of a capability that the endpoint does not name. Their calls reject. */
function deniedRepositories(capability: (typeof ofRepositories)[number]): Record<string, object> {
  const get = (): never => {
    throw notInUses('this function of ctx.repositories', [capability]);
  };
  const denied = new Proxy<object>({}, { get });
  const repositories =
    capability === 'repositories'
      ? createRepositories(denied as Host['repositories'] & object)
      : createRepositoriesWrite(denied as Host['repositories-write'] & object);
  return { ...repositories };
}

/**
 * Adds the members of the capabilities to `ctx`. Throws `CapabilityDenied` for a capability that the plugin does not
 * request.
 */
export function withCapabilities<C extends object, U extends Capability>(
  ctx: C,
  uses: readonly U[],
  host: Host,
  scope: HandleScope,
  endpoint: string,
): C & Uses<U> {
  for (const capability of uses) {
    const given = Object.hasOwn(members, capability) ? members[capability](host, scope) : undefined;
    if (!given)
      throw new HostError('CapabilityDenied', 'denied', missingCapability(endpoint, capability), {
        data: { capability },
      });
    if ('repositories' in given && Object.hasOwn(ctx, 'repositories'))
      joinRepositories((ctx as { repositories: Record<string, object> }).repositories, { ...given.repositories });
    else Object.assign(ctx, given);
  }
  if (Object.hasOwn(ctx, 'repositories')) {
    const { repositories } = ctx as unknown as { readonly repositories: Record<string, object> };
    for (const capability of ofRepositories)
      if (!uses.some((used) => used === capability)) joinRepositories(repositories, deniedRepositories(capability));
  }
  return ctx as C & Uses<U>;
}

/**
 * Merges the repositories of two capabilities, because reading and writing are separate capabilities and `ctx` has one
 * set of repositories.
 */
function joinRepositories(all: Record<string, object>, more: Record<string, object>): void {
  for (const [name, methods] of Object.entries(more)) all[name] = { ...all[name], ...methods };
}

export function missingCapability(endpoint: string, capability: Capability): string {
  if (!Object.hasOwn(members, capability))
    return (
      `"uses" of ${endpoint} names ${JSON.stringify(capability)}, but ctx has members only for ` +
      `${Object.keys(members).join(', ')}`
    );
  return (
    `${endpoint} uses the capability ${capability}, which the plugin does not ask for: add it to the ` +
    `capabilities in plugin.json`
  );
}
