import { type ClusterSettings, memberFiles, Membership } from '../../../base/certificates/index.ts';
import { fail } from '../../../base/core/errors.ts';
import { TCP_ADDRESS, tcpAddress } from '../../../base/core/net/cluster-names.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { TcpAddress } from '../../../inference/rpc/index.ts';

/** An application on another machine of the cluster, over the address in its `cluster.listen`. */
export interface MemberAddress {
  /** The address for messages, such as `10.0.0.5:8700`. */
  readonly url: string;
  readonly tcp: TcpAddress;
  readonly membership: Membership;
}

/**
 * Returns where an application on another machine is reached, as the member of the cluster that the settings name.
 * `address` is its `cluster.listen`, such as `10.0.0.5:8700`. Throws `InvalidInput` for another text, `ConfigError`
 * when this machine is in no cluster, and `TlsError` when its files cannot be used.
 */
export async function memberAddress(address: string, settings: ClusterSettings, log: Logger): Promise<MemberAddress> {
  const tcp = tcpAddress(address);
  if (!TCP_ADDRESS.test(address) || tcp.port < 1 || tcp.port > 65_535)
    throw fail('InvalidInput', `${JSON.stringify(address)} is no address of a machine with a port: 10.0.0.5:8700`);
  const files = memberFiles(settings);
  if (!files)
    throw fail(
      'ConfigError',
      'this machine is in no cluster: set cluster.cert, cluster.key and cluster.ca (AANA_CLUSTER_CERT, …)',
    );
  return { url: address, tcp, membership: await Membership.open(files, log) };
}
