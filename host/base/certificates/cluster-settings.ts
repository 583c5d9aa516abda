import { tcpAddress } from '../core/net/cluster-names.ts';
import type { MemberFiles } from './membership.ts';

/** The section `cluster` of the configuration. */
export interface ClusterSettings {
  readonly cert: string | null;
  readonly key: string | null;
  readonly ca: string | null;
  readonly name: string;
  readonly listen: string | null;
}

/** Returns the files of this machine's membership; undefined if it is in no cluster. */
export function memberFiles({ cert, key, ca, name }: ClusterSettings): MemberFiles | undefined {
  return cert !== null && key !== null && ca !== null ? { cert, key, ca, name } : undefined;
}

/** Returns where and as which member the replicas of this machine listen for others; undefined if they do not. */
export function remoteListening(
  settings: ClusterSettings,
): { readonly host: string; readonly member: MemberFiles } | undefined {
  const member = memberFiles(settings);
  return settings.listen !== null && member ? { host: tcpAddress(settings.listen).host, member } : undefined;
}
