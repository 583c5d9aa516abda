import { type AanaError, fail } from '../../base/core/errors.ts';

/** Returns the URL for messages: without user name, password and query, which may be a token. */
export function withoutCredentials(url: URL | string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return String(url)
      .replace(/\/\/[^/@]*@/, '//')
      .replace(/\?.*/s, '?…');
  }
  parsed.username = '';
  parsed.password = '';
  parsed.hash = '';
  if (parsed.search === '') return parsed.href;
  parsed.search = '';
  return `${parsed.href}?…`;
}

export function downloadError(url: URL | string, why: string, cause?: unknown): AanaError {
  const shown = withoutCredentials(url);
  return fail('DownloadException', `cannot fetch ${shown}: ${why}`, {
    data: { url: shown },
    cause,
  });
}

/**
 * Returns the error for a private address. Only the log has the address, because it would reveal this network to
 * clients.
 */
export function privateAddressError(url: URL, address: string, canBeGranted = false): AanaError {
  const granted = canBeGranted
    ? `plugin_grants can allow it for the plugin: by the address, or in a private network by the name with its port; `
    : '';
  const message =
    `the host ${url.hostname} has a private address, or one of this server; ${granted}start the server with ` +
    `--allow-private-urls to allow ${canBeGranted ? 'all' : 'it'}`;
  return fail('PrivateAddressException', message, {
    data: { url: withoutCredentials(url) },
    logFields: { address },
  });
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed before the end',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name server does not answer',
  ETIMEDOUT: 'the connection timed out',
  HPE_HEADER_OVERFLOW: 'the header of its answer is too long',
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'its certificate is not signed by a trusted authority; name the authority with outgoing.ca_file',
  SELF_SIGNED_CERT_IN_CHAIN:
    'its certificate is not signed by a trusted authority; name the authority with outgoing.ca_file',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'its certificate is not signed by a trusted authority; name the authority with outgoing.ca_file',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its certificate is not signed by a trusted authority; name the authority with outgoing.ca_file',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
};

/**
 * Returns why a connection or an answer failed. The system's message about a socket is left out, because it has the
 * addresses of both ends.
 */
export function reasonOf(error: unknown): string {
  // several addresses were tried, each with its own error
  const single = error instanceof AggregateError ? (error.errors as readonly unknown[])[0] : error;
  if (!(single instanceof Error)) return String(single);
  const code = 'code' in single && typeof single.code === 'string' ? single.code : '';
  return (
    REASONS[code] ??
    (code.startsWith('HPE_')
      ? 'its answer is not HTTP'
      : 'syscall' in single
        ? `${String(single.syscall)} failed with ${code}`
        : single.message || code)
  );
}
