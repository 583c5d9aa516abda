/** What rules look at. A fact that is not known now is undefined, and rules that need it change nothing. */
export interface AlertFacts {
  readonly deployments: readonly DeploymentFacts[];
  readonly plugins: readonly PluginFacts[];
  /** Answered requests since the start; undefined without metrics. */
  readonly requests: RequestFacts | undefined;
  readonly disks: readonly DiskFacts[] | undefined;
  readonly disabledWebhooks: readonly WebhookFacts[] | undefined;
  /** The certificate of the server; undefined without HTTPS. */
  readonly certificate: CertificateFacts | undefined;
}

export interface DeploymentFacts {
  readonly name: string;
  readonly status: string;
  /** The reason of the status. */
  readonly message: string;
  /** Number of replicas that take calls. */
  readonly ready: number;
  readonly queued: number;
  readonly maxQueued: number;
}

export interface PluginFacts {
  readonly name: string;
  /** Why the newest version does not serve; null for a plugin that never served because it lacks a grant. */
  readonly error: string | null;
  readonly queued: number;
  /** Undefined while no version serves. */
  readonly maxQueued: number | undefined;
}

export interface RequestFacts {
  readonly total: number;
  /** Of these, requests that were answered with a status of 500 or above. */
  readonly failed: number;
}

export interface DiskFacts {
  /** A folder on the disk. */
  readonly path: string;
  /** The part of the disk that is used, from 0 to 1. */
  readonly used: number;
  readonly freeBytes: number;
}

export interface WebhookFacts {
  readonly id: string;
  /** Scheme, host and port of its URL. */
  readonly target: string;
  /** Milliseconds since 1970. */
  readonly disabledAt: number;
  readonly reason: string;
}

export interface CertificateFacts {
  readonly file: string;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
  readonly fingerprint: string;
}
