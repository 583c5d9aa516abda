import { X509Certificate } from 'node:crypto';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import type { Logger } from '../core/log/logger.ts';
import { Certificate, hasName } from './certificate.ts';
import { tlsReason } from './tls-reason.ts';

/** PEM files of one member of a cluster. */
export interface MemberFiles {
  readonly cert: string;
  readonly key: string;
  /** The authority of the cluster. */
  readonly ca: string;
  /** DNS name that the certificates of all members have. */
  readonly name: string;
  /** Interval of the checks for changed files, in milliseconds. Default: 2000. */
  readonly lookMs?: number | undefined;
}

/**
 * What makes a process a member of a cluster: a certificate that the authority of the cluster has signed, and that has
 * the name of the cluster. Both ends of each connection show one. Renewed files count for the next connections.
 */
export class Membership {
  /**
   * The certificate of a server. Its connections must be checked with {@link refusalOf}: Node would close those that
   * are refused without a reason.
   */
  readonly certificate: Certificate;
  readonly name: string;

  private constructor(certificate: Certificate, name: string) {
    this.certificate = certificate;
    this.name = name;
  }

  /** Reads the files. Throws `TlsError` that names the file that cannot be used. */
  static async open({ cert, key, ca, name, lookMs }: MemberFiles, log: Logger): Promise<Membership> {
    const files = { cert, key, clientCa: ca, name, refusesLater: true, minVersion: 'TLSv1.3', lookMs } as const;
    return new Membership(await Certificate.open(files, log), name);
  }

  /** Options of a client, which sends nothing to a server that is refused. */
  get clientOptions(): ConnectionOptions {
    return {
      ...this.certificate.options,
      rejectUnauthorized: true,
      servername: this.name,
      checkServerIdentity: (_name, { raw }) => {
        const refusal = this.#refusalOfName(new X509Certificate(raw));
        return refusal === undefined ? undefined : new Error(refusal);
      },
    };
  }

  /** Returns why a client is refused, in a part of a sentence; undefined for a member. */
  refusalOf(socket: TLSSocket): string | undefined {
    const certificate = socket.getPeerX509Certificate();
    if (!certificate || socket.isSessionReused()) return 'it showed no certificate';
    const code = String(socket.authorizationError);
    return socket.authorized ? this.#refusalOfName(certificate) : tlsReason({ code, message: code });
  }

  #refusalOfName(certificate: X509Certificate): string | undefined {
    if (hasName(certificate, this.name)) return undefined;
    return `its certificate is for ${certificate.subjectAltName ?? 'no name'}, and not for ${this.name}`;
  }
}
