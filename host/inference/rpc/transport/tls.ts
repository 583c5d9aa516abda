import type { AddressInfo, Server } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { type Membership, tlsReason } from '../../../base/certificates/index.ts';
import type { TcpAddress } from '../frames.ts';
import { listening } from '../../../base/core/net/listening.ts';

/** Milliseconds for a handshake. */
const HANDSHAKE_MS = 5000;
/** Milliseconds without a byte after which the kernel asks the other machine, ten times within 10 s. */
const KEEP_ALIVE_MS = 5000;

export interface TlsListenOptions {
  /** Address of this machine. */
  readonly host: string;
  readonly membership: Membership;
  /** Takes the connection of a member. */
  take(connection: TLSSocket): void;
  /** Called with the address of another one, and why it was refused. */
  onRefused(from: string, reason: string): void;
}

/**
 * Listens with TLS on a port that the system chooses, for members of the cluster. Rejects with the error of the system.
 */
export async function listenWithTls({
  host,
  membership,
  take,
  onRefused,
}: TlsListenOptions): Promise<{ readonly server: Server; readonly at: TcpAddress }> {
  const options = { handshakeTimeout: HANDSHAKE_MS, noDelay: true };
  const server = createServer({ ...membership.certificate.options, ...options }, (connection) => {
    const refusal = membership.refusalOf(connection);
    if (refusal === undefined) return take(connection);
    onRefused(connection.remoteAddress ?? '', refusal);
    connection.destroy();
  });
  server.on('tlsClientError', (error, connection) => {
    const { remoteAddress } = connection;
    if (remoteAddress !== undefined) onRefused(remoteAddress, tlsReason(error)); // otherwise it has left
    connection.destroy(); // Node leaves that to the listener
  });
  const { certificate } = membership;
  certificate.watch((changed) => server.setSecureContext(changed));
  server.once('close', () => certificate.close());
  await listening(server, () => server.listen(0, host));
  return { server, at: { host, port: (server.address() as AddressInfo).port } };
}

/** Connects to a member of the cluster. An `error` of the connection has {@link tlsReason} as its message. */
export function connectWithTls({ host, port }: TcpAddress, membership: Membership): TLSSocket {
  const connection = connect({ ...membership.clientOptions, host, port });
  connection.setNoDelay(true);
  connection.setKeepAlive(true, KEEP_ALIVE_MS); // requests of HTTP have no beats
  const slow = (): void => void connection.destroy(new Error(`no handshake within ${HANDSHAKE_MS / 1000} s`));
  const timer = setTimeout(slow, HANDSHAKE_MS).unref();
  for (const event of ['secureConnect', 'close']) connection.once(event, () => clearTimeout(timer));
  return connection;
}
