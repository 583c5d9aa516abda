import { type Membership, tlsReason } from '../../../base/certificates/index.ts';
import { type AanaError, fail } from '../../../base/core/errors.ts';

/** An application, by the address of its server. */
interface Addressed {
  readonly url: string;
  /** The socket of an application of this user. */
  readonly socket?: string;
  /** As which member of a cluster this process reaches an application on another machine. */
  readonly membership?: Membership;
}

/** Returns the error of an application that does not answer for a reason of the system, or another one. */
export function notAnswering({ url, membership }: Addressed, cause: NodeJS.ErrnoException | string): AanaError {
  const why = typeof cause === 'string' ? cause : membership ? tlsReason(cause) : reasonOf(cause);
  return fail('NotRunning', `the application at ${url} does not answer: ${why}`, {
    data: { url },
  });
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ECONNRESET') return 'it closed the connection';
  return code?.startsWith('HPE_') ? 'it has another version' : message; // it does not speak HTTP
}

/**
 * Returns the error of a connection that ended after the application had answered. On this machine that means that the
 * application has ended; a network may also lose the connection to one that runs.
 */
export function lostError({ url, socket }: Addressed, cause?: Error): AanaError {
  const message =
    socket === undefined
      ? `the connection to the application at ${url} was lost`
      : `the application at ${url} has ended`;
  return fail('ConnectionLost', message, { data: { url }, cause });
}
