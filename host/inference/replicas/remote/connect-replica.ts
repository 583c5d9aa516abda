import { connect } from 'node:net';
import { type Membership, tlsReason } from '../../../base/certificates/index.ts';
import { fail } from '../../../base/core/errors.ts';
import { FrameSocket } from '../../rpc/frame-socket.ts';
import type { DataAnswer, DataRequest } from '../../rpc/frames.ts';
import { connectWithTls } from '../../rpc/transport/tls.ts';
import type { ConnectReplica, ReplicaConnection } from './remote-replica.ts';

/** Connects over a Unix socket, which does not keep this process running. */
export const connectReplica: ConnectReplica = ({ socket: path }, listener) => {
  const connection = connect(path);
  connection.unref();
  return connectionOf(new FrameSocket(connection, listener));
};

/** Returns what connects to replicas of other machines, as a member of their cluster. */
export function remoteConnector(membership: Membership): ConnectReplica {
  return ({ tcp }, listener) => {
    if (!tcp) throw fail('ReplicaProtocolError', 'the replica does not listen for other machines');
    const connection = connectWithTls(tcp, membership);
    connection.unref();
    const socket = new FrameSocket<DataAnswer, DataRequest>(connection, listener);
    connection.on('error', (error) => socket.fail(new Error(tlsReason(error))));
    const { send, close } = connectionOf(socket);
    return {
      close,
      send: (frame) => {
        send(frame);
        if (frame.type === 'hello') socket.beat({ endsSilent: true });
      },
    };
  };
}

const connectionOf = (socket: FrameSocket<DataAnswer, DataRequest>): ReplicaConnection => ({
  send: (frame) => socket.send(frame),
  close: () => socket.destroy(),
});
