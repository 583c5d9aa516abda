import {
  ArtifactCopies,
  artifactsIn,
  findGrowing,
  type GrowingFiles,
  localArtifact,
  notFound,
} from '../../../io/artifacts/index.ts';
import { cancelledError } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { Artifact } from '../../../base/schemas/index.ts';
import type { ServedCallFacts } from '../../rpc/call-server.ts';
import { type ArtifactFolders, protocolError, READ_ARTIFACT } from '../../rpc/frames.ts';
import type { Connections } from './connections.ts';

/**
 * The artifacts of the calls of this replica. On the machine of their host they are files that the replica opens.
 * Otherwise it asks for their bytes over the connection of a call that names them, and keeps a copy until the last such
 * call has ended.
 */
export class ReplicaArtifacts {
  readonly #roots: readonly string[];
  readonly #connections: Connections;
  readonly #copies: ArtifactCopies;

  constructor({ roots, copies }: ArtifactFolders, connections: Connections, log: Logger) {
    this.#roots = roots;
    this.#connections = connections;
    this.#copies = new ArtifactCopies({ folder: copies, read: (id, from) => this.#read(id, from), log });
    connections.onEnded = () => this.#copies.removeUnless((id) => !this.#naming(id).next().done);
  }

  /** See `StartContext.artifactPath`. */
  async path(artifact: Artifact): Promise<string> {
    return (await localArtifact(artifact, this.#roots)) ?? (await this.#copies.path(artifact));
  }

  /** See `StartContext.growingPaths`. */
  async growing(ids: readonly string[], endId: string): Promise<GrowingFiles> {
    return (await findGrowing(ids, endId, this.#roots)) ?? (await this.#copies.growing(ids, endId));
  }

  /** Removes all copies. */
  async close(): Promise<void> {
    await this.#copies.close();
  }

  /** Asks over the connection of a call. When that is cancelled, goes on over that of another one. */
  async #read(id: string, from: number): Promise<Uint8Array> {
    let isNamed = false;
    for (const call of this.#naming(id)) {
      isNamed = true;
      const { signal } = call;
      if (signal.aborted) continue;
      try {
        const bytes = await this.#connections.host.call(READ_ARTIFACT, { id, from }, { call: call.id, signal });
        if (bytes instanceof Uint8Array) return bytes;
      } catch (error) {
        if (!signal.aborted) throw error;
        continue;
      }
      throw protocolError('received something else than the bytes of an artifact');
    }
    throw isNamed
      ? cancelledError('the calls that need the artifact were cancelled')
      : notFound(id, 'no call names it');
  }

  /** Returns the calls that name the artifact. */
  *#naming(id: string): Generator<ServedCallFacts, void> {
    for (const call of this.#connections.running()) if (artifactsIn(call.args).has(id)) yield call;
  }
}
