import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions, type SecureVersion } from 'node:tls';
import { type AanaError, fail } from '../core/errors.ts';
import type { Logger } from '../core/log/logger.ts';

/** Files of the certificate of a server or of a member of a cluster. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
  /** Authorities that sign the certificates of clients. With it, clients must show one. */
  readonly clientCa?: string | undefined;
  /** Whether the server accepts clients with bad certificates, so that it can tell them why it refuses them. */
  readonly refusesLater?: boolean | undefined;
  /** DNS name that the certificate must have. Default: any. */
  readonly name?: string | undefined;
  readonly minVersion: SecureVersion;
  /** Interval of the checks for changed files, in milliseconds. Default: 2000. */
  readonly lookMs?: number | undefined;
}

export interface CertificateFacts {
  readonly file: string;
  readonly endsAt: number;
  readonly fingerprint: string;
}

/** Options for `node:https`. */
export type CertificateOptions = SecureContextOptions & {
  readonly requestCert: boolean;
  readonly rejectUnauthorized: boolean;
};

const LOOK_MS = 2000;

/**
 * The certificate of a server. It is read again when its files change. If the new files cannot be used, the last good
 * certificate stays in use.
 */
export class Certificate {
  readonly #files: CertificateFiles;
  readonly #log: Logger;
  #options: CertificateOptions;
  #facts: { readonly options: CertificateOptions; readonly of: CertificateFacts } | undefined;
  #onChange: (options: CertificateOptions) => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  /** State of the files at the last attempt to read them, and at the last check. */
  #tried: string;
  #seen: string;
  #isLooking = false;
  #reading: Promise<void> = Promise.resolve();

  private constructor(files: CertificateFiles, log: Logger, state: string, options: CertificateOptions) {
    this.#files = files;
    this.#log = log;
    this.#options = options;
    this.#tried = this.#seen = state;
  }

  /** Reads the certificate. Throws `TlsError` that names the file that cannot be used. */
  static async open(files: CertificateFiles, log: Logger): Promise<Certificate> {
    const state = await stateOf(files);
    const options = await readCertificate(files);
    warnOfEnd(options, files, log);
    return new Certificate(files, log, state, options);
  }

  /** The certificate in use: its file, its end in milliseconds since 1970, and its fingerprint. */
  get facts(): CertificateFacts {
    if (this.#facts?.options !== this.#options) {
      const { validTo, fingerprint256 } = new X509Certificate(this.#options.cert as Buffer);
      const of = { file: this.#files.cert, endsAt: new Date(validTo).getTime(), fingerprint: fingerprint256 };
      this.#facts = { options: this.#options, of };
    }
    return this.#facts.of;
  }

  /** The newest certificate that can be used. */
  get options(): CertificateOptions {
    return this.#options;
  }

  /**
   * Checks for changes until `close`, without keeping the process alive. Changed files are read when two checks in a
   * row find the same state, because a file may be half written.
   */
  watch(onChange: (options: CertificateOptions) => void): void {
    this.#onChange = onChange;
    this.#timer = setInterval(() => void this.#look(), this.#files.lookMs ?? LOOK_MS);
    this.#timer.unref();
  }

  /** Reads the certificate again. A failure is logged. */
  reload(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read());
    return this.#reading;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const state = await stateOf(this.#files);
    const isSettled = state === this.#seen;
    this.#seen = state;
    if (isSettled && state !== this.#tried) await this.reload();
    this.#isLooking = false;
  }

  async #read(): Promise<void> {
    this.#tried = await stateOf(this.#files);
    try {
      const options = await readCertificate(this.#files);
      this.#options = options;
      this.#onChange(options);
      this.#log.info('certificate read', { file: this.#files.cert, until: endOf(options) });
      warnOfEnd(options, this.#files, this.#log);
    } catch (error) {
      this.#log.error('new certificate refused, the old one stays', {
        reason: error instanceof Error ? error.message : String(error),
      });
    }
  }
}

/**
 * Reads and checks the files. Throws `TlsError` if a file cannot be read, has other contents, or the key belongs to
 * another certificate.
 */
async function readCertificate({
  cert,
  key,
  clientCa,
  name,
  refusesLater = false,
  minVersion,
}: CertificateFiles): Promise<CertificateOptions> {
  const options = {
    cert: await pem(cert),
    key: await pem(key),
    ...(clientCa !== undefined && { ca: await pem(clientCa) }),
    minVersion,
  };
  check(`${cert} is not a certificate in PEM`, () => new X509Certificate(options.cert));
  check(`${key} is not a private key in PEM without a passphrase`, () =>
    createSecureContext({ key: options.key, minVersion }),
  );
  check(`${key} is not the key of the certificate ${cert}`, () =>
    createSecureContext({ cert: options.cert, key: options.key, minVersion }),
  );
  if (name !== undefined && !hasName(new X509Certificate(options.cert), name))
    throw fail('TlsError', `${cert} does not have the DNS name ${name} in its subjectAltName`);
  if (options.ca) check(`${clientCa} has no certificates in PEM`, () => new X509Certificate(options.ca as Buffer));
  return {
    ...options,
    requestCert: clientCa !== undefined,
    rejectUnauthorized: clientCa !== undefined && !refusesLater,
  };
}

/** Returns whether a certificate has exactly this DNS name. Its common name and wildcards do not count. */
export const hasName = (certificate: X509Certificate, name: string): boolean =>
  certificate.checkHost(name, { subject: 'never', wildcards: false }) !== undefined;

async function pem(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw tlsError(`${file} cannot be read`, error as NodeJS.ErrnoException);
  }
}

function check(complaint: string, attempt: () => unknown): void {
  try {
    attempt();
  } catch (error) {
    throw tlsError(complaint, error as NodeJS.ErrnoException);
  }
}

function tlsError(complaint: string, cause: NodeJS.ErrnoException & { readonly reason?: string }): AanaError {
  // The reason of OpenSSL, of the system, or of Node.
  const reason = cause.reason ?? (cause.code?.startsWith('ERR_') === false ? cause.code : cause.message);
  return fail('TlsError', `${complaint}: ${reason}`, { cause });
}

/** Returns a text that changes whenever one of the files changes, also if a link has another target. */
async function stateOf({ cert, key, clientCa }: CertificateFiles): Promise<string> {
  const one = async (file: string): Promise<string> => {
    const found = await stat(file).catch(() => undefined);
    return found ? `${found.ino}:${found.size}:${found.mtimeMs}` : '';
  };
  return (await Promise.all([cert, key, ...(clientCa === undefined ? [] : [clientCa])].map(one))).join(' ');
}

function endOf({ cert }: CertificateOptions): Date {
  return new Date(new X509Certificate(cert as Buffer).validTo);
}

function warnOfEnd(options: CertificateOptions, { cert }: CertificateFiles, log: Logger): void {
  const end = endOf(options);
  if (end.getTime() < Date.now()) log.warn('the certificate is no longer valid', { file: cert, since: end });
}
