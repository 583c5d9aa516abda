/** Artifacts by id. Of one that grows, the id of the file that tells its end. */
type NamedArtifacts = ReadonlyMap<string, { readonly end: string | undefined }>;

const known = new WeakMap<object, NamedArtifacts>();

/**
 * Returns the artifacts that the arguments of a call name: only these belong to it. The arguments are searched once, so
 * they must not change.
 */
export function artifactsIn(args: Readonly<Record<string, unknown>>): NamedArtifacts {
  let found = known.get(args);
  if (!found) {
    const all = new Map<string, { readonly end: string | undefined }>();
    collect(args, all);
    known.set(args, (found = all));
  }
  return found;
}

function collect(value: unknown, found: Map<string, { readonly end: string | undefined }>): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  const { id, sha256, channels, growing } = value as Readonly<Record<string, unknown>>;
  const end = (growing as { readonly end?: unknown } | null | undefined)?.end;
  if (typeof id === 'string' && typeof sha256 === 'string') {
    found.set(id, { end: undefined });
  } else if (typeof end === 'string' && Array.isArray(channels)) {
    found.set(end, { end: undefined });
    for (const channel of channels as readonly { readonly artifact?: { readonly id?: unknown } }[])
      if (typeof channel?.artifact?.id === 'string') found.set(channel.artifact.id, { end });
  } else {
    for (const part of Object.values(value)) collect(part, found);
  }
}
