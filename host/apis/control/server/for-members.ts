import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { Membership } from '../../../base/certificates/index.ts';
import { statusOf } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { sparing } from '../../../base/core/log/sparing.ts';

type Listener = (req: IncomingMessage, res: ServerResponse) => unknown;

/** Returns a listener for requests over TLS that only members of the cluster reach. Others are told why they do not. */
export function forMembers(membership: Membership, log: Logger, listener: Listener): Listener {
  const warn = sparing(log, 'a machine was refused as a member of the cluster');
  return (req, res) => {
    const reason = membership.refusalOf(req.socket as TLSSocket);
    if (reason === undefined) return listener(req, res);
    warn({ from: req.socket.remoteAddress, reason });
    const message = `the application refuses this machine as a member of its cluster: ${reason}`;
    res.writeHead(statusOf('MembershipRefused'), { 'content-type': 'application/json', connection: 'close' });
    res.end(JSON.stringify({ error: 'MembershipRefused', message, data: null, stacktrace: null }));
    return undefined;
  };
}
