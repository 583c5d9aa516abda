import type { HandleScope } from './handles.ts';
import { createRemote, type RemoteMembers } from './helper.ts';
import { HostError } from '../host-error.ts';
import type { Host } from '../host.ts';
import {
  createRepositories,
  createRepositoriesWrite,
  type Repositories,
  type RepositoriesWrite,
} from './repositories.ts';
import { Storage } from './storage.ts';

/** Members that `ctx` has when the endpoint's `uses` names the capability. */
interface CapabilityMembers {
  storage: { readonly storage: Storage };
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
  repositories: ({ repositories }) => repositories && { repositories: createRepositories(repositories) },
  'repositories-write': ({ 'repositories-write': write }) => write && { repositories: createRepositoriesWrite(write) },
  remote: ({ remote }, scope) => remote && createRemote(remote, scope),
};

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
    if ('repositories' in given && 'repositories' in ctx)
      joinRepositories(ctx.repositories as Record<string, object>, { ...given.repositories });
    else Object.assign(ctx, given);
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
