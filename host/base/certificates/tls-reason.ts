const FOREIGN = 'its certificate is not signed by the authority of the cluster';
const NO_TLS = 'it does not speak TLS';
const clockOf = (): string => `the clock of this machine shows ${new Date().toISOString()}`;

/** Why a certificate or a connection is refused, by the code of OpenSSL or Node. */
const REASONS: Readonly<Record<string, string | (() => string)>> = {
  CERT_HAS_EXPIRED: () => `its certificate has expired; ${clockOf()}`,
  CERT_NOT_YET_VALID: () => `its certificate is not valid yet; ${clockOf()}`,
  CERT_SIGNATURE_FAILURE: FOREIGN,
  DEPTH_ZERO_SELF_SIGNED_CERT: FOREIGN,
  SELF_SIGNED_CERT_IN_CHAIN: FOREIGN,
  UNABLE_TO_GET_ISSUER_CERT: FOREIGN,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: FOREIGN,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: FOREIGN,
  INVALID_PURPOSE: 'its certificate is not for this end of a connection (extendedKeyUsage)',
  ERR_SSL_HTTP_REQUEST: 'it speaks plain HTTP',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  ERR_SSL_UNEXPECTED_MESSAGE: NO_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'it does not speak TLS 1.3',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'it does not speak TLS 1.3',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'it wants a certificate',
  ERR_TLS_HANDSHAKE_TIMEOUT: 'it did not finish its handshake in time',
  ECONNRESET: 'it closed the connection',
};

/** Returns in a part of a sentence why the other end of a TLS connection is refused, or cannot be reached. */
export function tlsReason({ code, message }: { readonly code?: string | undefined; readonly message: string }): string {
  const reason = REASONS[code === 'EPROTO' ? codeOf(message) : (code ?? '')];
  return typeof reason === 'function' ? reason() : (reason ?? message);
}

/** Returns the code of the error in a message such as `…:SSL routines:ssl3_get_record:wrong version number:…`. */
function codeOf(message: string): string {
  const reason = /:SSL routines:[^:]*:([^:]+):/.exec(message)?.[1] ?? '';
  return `ERR_SSL_${reason.toUpperCase().replaceAll(' ', '_')}`;
}
